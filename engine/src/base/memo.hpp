// Values that are made once for all that they depend on.
#pragma once

#include <cstddef>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

namespace dse {

/// Finds values by the bytes of what they depend on, and makes those that it lacks. Values stay where they
/// are.
template <typename Value>
class Memo {
public:
    /// The value for these parts; `make` returns it the first time, and may ask for others.
    template <typename Make, typename... Parts>
    const Value& of(const Make& make, const Parts&... parts) {
        key_.clear();
        (add(parts), ...);
        if (const auto known = values_.find(key_); known != values_.end()) return known->second;
        std::string key = key_;
        return values_.emplace(std::move(key), make()).first->second;
    }
    std::size_t size() const { return values_.size(); }

private:
    template <typename Part>
    void add(const Part& part) {
        static_assert(std::is_trivially_copyable_v<Part>);
        key_.append(reinterpret_cast<const char*>(&part), sizeof part);
    }
    template <typename Part>
    void add(const std::vector<Part>& parts) {
        static_assert(std::is_trivially_copyable_v<Part>);
        add(parts.size());
        key_.append(reinterpret_cast<const char*>(parts.data()), parts.size() * sizeof(Part));
    }

    std::string key_;
    std::unordered_map<std::string, Value> values_;
};

}  // namespace dse
