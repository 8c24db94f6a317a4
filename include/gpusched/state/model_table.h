// ModelTable: the GPU models that a cluster or a shape has named, as bits of a mask.
#ifndef GPUSCHED_STATE_MODEL_TABLE_H_
#define GPUSCHED_STATE_MODEL_TABLE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpusched {

// A set of models by index.
using ModelMask = std::uint64_t;

inline constexpr ModelMask kAnyModel = ~ModelMask{0};
inline constexpr std::uint32_t kMaxModels = 64;

// Gives each model name of this state an index, in order of appearance. At most 64 names in the
// life of a state: an index stays with its name when the last device of it has gone.
class ModelTable {
 public:
  std::optional<std::uint32_t> Find(std::string_view name) const {
    for (std::uint32_t i = 0; i < names_.size(); ++i) {
      if (names_[i] == name) return i;
    }
    return std::nullopt;
  }

  // The index of the name, given out now if it is new; none if the table is full.
  std::optional<std::uint32_t> Intern(std::string_view name) {
    if (const auto found = Find(name)) return found;
    if (names_.size() >= kMaxModels) return std::nullopt;
    names_.emplace_back(name);
    return static_cast<std::uint32_t>(names_.size() - 1);
  }

  // Forgets the names from index `size` on, which nobody must have used yet.
  void Truncate(std::uint32_t size) { names_.resize(size); }

  std::uint32_t size() const { return static_cast<std::uint32_t>(names_.size()); }
  // Empty for an index that was not given out.
  std::string_view name(std::uint32_t index) const {
    return index < names_.size() ? std::string_view(names_[index]) : std::string_view();
  }

 private:
  std::vector<std::string> names_;
};

}  // namespace gpusched

#endif  // GPUSCHED_STATE_MODEL_TABLE_H_
