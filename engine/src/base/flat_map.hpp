// A small open-addressing hash map for trivially copyable keys and values; erasing leaves no tombstones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace dse {

/// Finaliser of a 64-bit hash: every input bit reaches every output bit.
inline std::uint64_t mix_bits(std::uint64_t x) {
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93ULL;
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93ULL;
    x ^= x >> 32;
    return x;
}

/// `Key` needs `hash()` and `==`. References are valid until the next insertion or erasure.
template <typename Key, typename Value>
class FlatMap {
public:
    explicit FlatMap(std::size_t capacity = 64) : cells_(capacity) {}

    Value* find(const Key& key) {
        for (std::size_t i = home(key);; i = next(i)) {
            if (!cells_[i].used) return nullptr;
            if (cells_[i].key == key) return &cells_[i].value;
        }
    }

    /// The value of a key; a fresh one if the key is new.
    Value& operator[](const Key& key) {
        if ((count_ + 1) * 2 > cells_.size()) grow();
        for (std::size_t i = home(key);; i = next(i)) {
            if (!cells_[i].used) {
                cells_[i] = {key, Value{}, true};
                ++count_;
                return cells_[i].value;
            }
            if (cells_[i].key == key) return cells_[i].value;
        }
    }

    void erase(const Key& key) {
        std::size_t hole = home(key);
        while (cells_[hole].used && !(cells_[hole].key == key)) hole = next(hole);
        if (!cells_[hole].used) return;
        // Move later members of the cluster back over the hole, so that probing never meets a gap.
        for (std::size_t i = next(hole); cells_[i].used; i = next(i)) {
            const std::size_t wanted = home(cells_[i].key);
            const std::size_t mask = cells_.size() - 1;
            if (((i - wanted) & mask) >= ((i - hole) & mask)) {
                cells_[hole] = cells_[i];
                hole = i;
            }
        }
        cells_[hole].used = false;
        --count_;
    }

    std::size_t size() const { return count_; }

    template <typename Visitor>
    void for_each(Visitor visit) const {
        for (const Cell& cell : cells_) {
            if (cell.used) visit(cell.key, cell.value);
        }
    }

private:
    struct Cell {
        Key key{};
        Value value{};
        bool used = false;
    };

    std::size_t home(const Key& key) const { return key.hash() & (cells_.size() - 1); }
    std::size_t next(std::size_t i) const { return (i + 1) & (cells_.size() - 1); }

    void grow() {
        std::vector<Cell> old(cells_.size() * 2);
        old.swap(cells_);
        count_ = 0;
        for (const Cell& cell : old) {
            if (cell.used) (*this)[cell.key] = cell.value;
        }
    }

    std::vector<Cell> cells_;
    std::size_t count_ = 0;
};

}  // namespace dse
