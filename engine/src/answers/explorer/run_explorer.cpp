// Reads the request of a page for runs, and answers it.
#include "answers/explorer/run_explorer.hpp"

#include <limits>

#include "prediction/inputs/record.hpp"

namespace dse::explorer {

using prediction::Record;
using prediction::runs::Elastic;

RunExplorer::RunExplorer(std::string_view text) {
    const config::JsonValue parsed = config::parse_json_object(text, "the request");
    const Record request(parsed);
    model_ = prediction::model_of_json(to_text(request.at("model")));
    cluster_ = prediction::cluster_of_json(to_text(request.at("cluster")));
    asked_ = prediction::runs::asked_of_json(to_text(request.at("run")));
    length_ = {request.integer("steps"), request.number("step_flops")};
    price_ = optional_number(request, "price").value_or(std::numeric_limits<double>::quiet_NaN());
}

const prediction::runs::Job& RunExplorer::job(double optimizer_bytes, double dp) {
    const std::pair key(optimizer_bytes, asked_.elastic == Elastic::kWait ? 1.0 : dp);
    const auto known = jobs_.find(key);
    if (known != jobs_.end()) return known->second;
    const double bytes = prediction::runs::checkpoint_bytes(model_, optimizer_bytes);
    return jobs_.try_emplace(key, asked_, cluster_, bytes, static_cast<std::int64_t>(dp)).first->second;
}

const std::vector<double>& RunExplorer::runs(std::span<const double> steps) {
    rows_.clear();
    for (std::size_t at = 0; at + kRunInputs <= steps.size(); at += kRunInputs) {
        const double* step = &steps[at];
        const auto found =
            job(step[4], step[5]).columns({step[0], step[1], 0.0, step[2], step[3]}, length_, price_);
        rows_.insert(rows_.end(), found.begin(), found.end());
    }
    return rows_;
}

}  // namespace dse::explorer
