// GpuModel and ModelCatalog: which names of accelerators are known, so that a misspelt one is
// caught where it enters instead of matching no device for ever.
#ifndef GPUSCHED_SPEC_GPU_MODEL_H_
#define GPUSCHED_SPEC_GPU_MODEL_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpusched/export.h"

namespace gpusched {

// A row of the catalogue. Memory is the maker's nominal size in GiB.
struct GpuModel {
  std::string_view name;
  std::string_view architecture;
  std::int32_t memory_gib = 0;
};

// The models that a cluster may name: the built-in ones, and opaque ones that its owner declares.
// An opaque name (such as a trace's anonymised "G2") is compared for equality and nothing else.
class GPUSCHED_EXPORT ModelCatalog {
 public:
  // The models that the library knows by their data sheets, ordered by age.
  static std::span<const GpuModel> BuiltIn();

  // Declares a name that is not to be checked. Declaring twice is no error.
  void DeclareOpaque(std::string_view name);

  // Whether the name may be used. O(models).
  bool Knows(std::string_view name) const;

  // The first known name that begins with this one, else the one that takes the fewest edits to
  // reach (capital letters aside; ties to the earlier one), for error messages.
  std::string Nearest(std::string_view name) const;

  const std::vector<std::string>& opaque() const { return opaque_; }

 private:
  std::vector<std::string> opaque_;
};

}  // namespace gpusched

#endif  // GPUSCHED_SPEC_GPU_MODEL_H_
