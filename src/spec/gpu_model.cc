#include "gpusched/spec/gpu_model.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>

#include "built_in_models.h"

namespace gpusched {
namespace {

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// Levenshtein distance, capital letters aside. O(|a|·|b|), on the error path only.
std::size_t Edits(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replace = diagonal + (Lower(a[i - 1]) == Lower(b[j - 1]) ? 0U : 1U);
      diagonal = row[j];
      row[j] = std::min({replace, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

template <class T>
T* FindNamed(std::vector<T>& list, std::string_view name) {
  const auto it = std::find_if(list.begin(), list.end(), [&](const T& entry) {
    if constexpr (requires { entry->spec(); }) {
      return entry->spec().name == name;
    } else {
      return entry.name == name;
    }
  });
  return it == list.end() ? nullptr : &*it;
}

}  // namespace

std::span<const GpuModel> ModelCatalog::BuiltIn() { return BuiltInModels(); }

std::span<const MigGeometry> ModelCatalog::BuiltInMig() { return BuiltInGeometries(); }

void ModelCatalog::DeclareOpaque(std::string_view name) {
  if (!Knows(name)) opaque_.emplace_back(name);
}

void ModelCatalog::Put(GpuModel model) {
  if (GpuModel* const former = FindNamed(models_, model.name)) {
    *former = std::move(model);
  } else {
    models_.push_back(std::move(model));
  }
}

void ModelCatalog::Put(MigGeometrySpec geometry) {
  auto made = std::make_shared<const MigGeometry>(std::move(geometry));
  if (auto* const former = FindNamed(geometries_, made->spec().name)) {
    *former = std::move(made);
  } else {
    geometries_.push_back(std::move(made));
  }
}

bool ModelCatalog::Knows(std::string_view name) const {
  return Find(name) != nullptr || std::find(opaque_.begin(), opaque_.end(), name) != opaque_.end();
}

const GpuModel* ModelCatalog::Find(std::string_view name) const {
  for (const std::span<const GpuModel> models : {std::span<const GpuModel>(models_), BuiltIn()}) {
    for (const GpuModel& model : models) {
      if (model.name == name) return &model;
    }
  }
  return nullptr;
}

std::shared_ptr<const MigGeometry> ModelCatalog::FindMig(std::string_view name) const {
  for (const auto& geometry : geometries_) {
    if (geometry->spec().name == name) return geometry;
  }
  for (const MigGeometry& geometry : BuiltInMig()) {
    // Built-in ones live for ever, so nobody needs to own them.
    if (geometry.spec().name == name) return {std::shared_ptr<void>(), &geometry};
  }
  return nullptr;
}

std::shared_ptr<const MigGeometry> ModelCatalog::MigOf(std::string_view model) const {
  const GpuModel* const row = Find(model);
  return row == nullptr || row->mig.empty() ? nullptr : FindMig(row->mig);
}

std::string ModelCatalog::Nearest(std::string_view name) const {
  // A very long name is compared by its head, so that the message stays cheap.
  constexpr std::size_t kHead = 64;
  name = name.substr(0, kHead);
  std::string_view best;
  std::size_t fewest = std::numeric_limits<std::size_t>::max();
  const auto consider = [&](std::string_view candidate) {
    // "H100" means one of the H100s, however many edits their full names take.
    const bool begins = !name.empty() && Edits(name, candidate.substr(0, name.size())) == 0;
    const std::size_t edits = begins ? 0 : Edits(name, candidate.substr(0, kHead));
    if (edits < fewest) {
      fewest = edits;
      best = candidate;
    }
  };
  for (const GpuModel& model : BuiltIn()) consider(model.name);
  for (const GpuModel& model : models_) consider(model.name);
  for (const std::string& opaque : opaque_) consider(opaque);
  return std::string(best);
}

}  // namespace gpusched
