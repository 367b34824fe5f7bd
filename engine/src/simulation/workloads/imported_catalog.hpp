// Ids and names of imported nodes, kept after their files are gone.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "simulation/workloads/workload.hpp"

namespace dse::workload {

/// Texts of a rank, one after the other in one allocation.
class Texts {
public:
    void add(std::string_view text) {
        bytes_ += text;
        ends_.push_back(bytes_.size());
    }
    std::string at(std::uint32_t index) const {
        const std::size_t begin = index == 0 ? 0 : ends_[index - 1];
        return bytes_.substr(begin, ends_[index] - begin);
    }
    std::size_t memory_bytes() const { return bytes_.capacity() + heap_bytes(ends_); }

private:
    std::string bytes_;
    std::vector<std::size_t> ends_;
};

/// Of ranks 0, 1, ... in the order in which they are added.
class ImportedCatalog : public NodeCatalog {
public:
    std::uint64_t id(std::uint32_t rank, std::uint32_t node) const override { return ids_[rank][node]; }
    std::string name(std::uint32_t rank, std::uint32_t node) const override { return names_[rank].at(node); }
    std::string tensor_name(std::uint32_t rank, std::uint32_t tensor) const override {
        return tensor_names_[rank].at(tensor);
    }

    std::size_t memory_bytes() const override {
        std::size_t bytes = 0;
        for (const auto& ids : ids_) bytes += heap_bytes(ids);
        for (const auto* texts : {&names_, &tensor_names_}) {
            for (const Texts& of_rank : *texts) bytes += of_rank.memory_bytes();
        }
        return bytes;
    }

    void add(std::vector<std::uint64_t> ids, Texts names, Texts tensor_names) {
        ids_.push_back(std::move(ids));
        names_.push_back(std::move(names));
        tensor_names_.push_back(std::move(tensor_names));
    }

private:
    std::vector<std::vector<std::uint64_t>> ids_;
    std::vector<Texts> names_;
    std::vector<Texts> tensor_names_;
};

}  // namespace dse::workload
