// GpuModel and ModelCatalog: what is known of models of accelerators, so that a misspelt name is
// caught where it enters, and a MIG profile is one that the model has.
#ifndef GPUSCHED_SPEC_GPU_MODEL_H_
#define GPUSCHED_SPEC_GPU_MODEL_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpusched/export.h"
#include "gpusched/spec/mig_geometry.h"

namespace gpusched {

// Peak dense rates (no 2:4 sparsity) in GFLOPS, int8 in GOPS. Absent: not supported or not known.
struct PeakRates {
  std::optional<std::int64_t> fp64, fp64_tensor, fp32, tf32, fp16, bf16, fp8, int8;

  friend bool operator==(const PeakRates&, const PeakRates&) = default;
};

// A row of the catalogue: one device as a scheduler sees it (a board with two GPUs is two).
struct GpuModel {
  std::string name;  // "A100-SXM4-40GB"
  std::string vendor = {};
  std::string architecture = {};
  std::string compute_capability = {};
  std::int64_t memory_gib = 0;  // the maker's nominal size
  PeakRates peak = {};
  std::optional<std::int64_t> bandwidth_gbs = {};  // of its memory, in GB/s
  std::optional<std::int64_t> tdp_w = {};
  std::optional<std::int64_t> nvlink_gbs = {};  // to other devices, both ways, in GB/s; 0: none
  std::string mig = {};                         // name of its MigGeometry; empty: no MIG
  // Fields that no public source was found for, e.g. "tdp_w", "fp64".
  std::vector<std::string> unsourced = {};

  friend bool operator==(const GpuModel&, const GpuModel&) = default;
};

// The models that a cluster may name: the built-in ones, ones that its owner adds, and opaque ones
// that are declared. An opaque name (such as a trace's anonymised "G2") is compared for equality
// and nothing else.
class GPUSCHED_EXPORT ModelCatalog {
 public:
  // The models that the library knows by their data sheets, ordered by age.
  static std::span<const GpuModel> BuiltIn();
  // The MIG geometries that it knows.
  static std::span<const MigGeometry> BuiltInMig();

  // Declares a name that is not to be checked. Declaring twice is no error.
  void DeclareOpaque(std::string_view name);

  // Adds a model or a geometry, in the place of a former one of the name if there is one.
  // Unchecked: see AddModel and AddMigGeometry (spec/validate_model.h).
  void Put(GpuModel model);
  void Put(MigGeometrySpec geometry);

  // Whether the name may be used. O(models).
  bool Knows(std::string_view name) const;
  // The row of a model, or nullptr: not known, or opaque. An added one comes before a built-in one.
  const GpuModel* Find(std::string_view name) const;
  // A geometry by its own name, or null.
  std::shared_ptr<const MigGeometry> FindMig(std::string_view name) const;
  // That of a model; null: it can't be partitioned.
  std::shared_ptr<const MigGeometry> MigOf(std::string_view model) const;

  // The first known name that begins with this one, else the one that takes the fewest edits to
  // reach (capital letters aside; ties to the earlier one), for error messages.
  std::string Nearest(std::string_view name) const;

  // What was added, in order.
  const std::vector<std::string>& opaque() const { return opaque_; }
  const std::vector<GpuModel>& models() const { return models_; }
  const std::vector<std::shared_ptr<const MigGeometry>>& geometries() const { return geometries_; }

 private:
  std::vector<std::string> opaque_;
  std::vector<GpuModel> models_;
  std::vector<std::shared_ptr<const MigGeometry>> geometries_;
};

}  // namespace gpusched

#endif  // GPUSCHED_SPEC_GPU_MODEL_H_
