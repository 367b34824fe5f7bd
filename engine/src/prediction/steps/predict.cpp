#include "prediction/steps/predict.hpp"

#include "prediction/steps/step.hpp"

namespace dse::prediction {

Prediction predict(const Model& model, const Plan& plan, const Cluster& cluster, const Setting& setting,
                   Shared& shared, bool only_feasible) {
    check(model, plan, cluster, setting);
    Step step(model, plan, cluster, setting, shared);
    return only_feasible ? Prediction{} : step.prediction();
}

}  // namespace dse::prediction
