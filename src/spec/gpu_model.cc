#include "gpusched/spec/gpu_model.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>

namespace gpusched {
namespace {

// Makers' data sheets. A K80 board carries two devices; a row is one device.
constexpr std::array kModels = {
    GpuModel{"K80", "Kepler", 12},
    GpuModel{"P100-PCIe-16GB", "Pascal", 16},
    GpuModel{"P100-SXM2-16GB", "Pascal", 16},
    GpuModel{"V100-PCIe-16GB", "Volta", 16},
    GpuModel{"V100-PCIe-32GB", "Volta", 32},
    GpuModel{"V100-SXM2-16GB", "Volta", 16},
    GpuModel{"V100-SXM2-32GB", "Volta", 32},
    GpuModel{"T4", "Turing", 16},
    GpuModel{"A10", "Ampere", 24},
    GpuModel{"A10G", "Ampere", 24},
    GpuModel{"A30", "Ampere", 24},
    GpuModel{"A40", "Ampere", 48},
    GpuModel{"A100-PCIe-40GB", "Ampere", 40},
    GpuModel{"A100-SXM4-40GB", "Ampere", 40},
    GpuModel{"A100-PCIe-80GB", "Ampere", 80},
    GpuModel{"A100-SXM4-80GB", "Ampere", 80},
    GpuModel{"A800-SXM4-80GB", "Ampere", 80},
    GpuModel{"L4", "Ada", 24},
    GpuModel{"L40S", "Ada", 48},
    GpuModel{"H100-PCIe-80GB", "Hopper", 80},
    GpuModel{"H100-SXM5-80GB", "Hopper", 80},
    GpuModel{"H100-NVL-94GB", "Hopper", 94},
    GpuModel{"GH200-96GB", "Hopper", 96},
    GpuModel{"H200-SXM-141GB", "Hopper", 141},
    GpuModel{"H800-SXM5-80GB", "Hopper", 80},
    GpuModel{"B200-SXM-180GB", "Blackwell", 180},
    GpuModel{"GB200", "Blackwell", 186},
    GpuModel{"MI250X", "CDNA2", 128},
    GpuModel{"MI300X", "CDNA3", 192},
};

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

}  // namespace

std::span<const GpuModel> ModelCatalog::BuiltIn() { return kModels; }

void ModelCatalog::DeclareOpaque(std::string_view name) {
  if (!Knows(name)) opaque_.emplace_back(name);
}

bool ModelCatalog::Knows(std::string_view name) const {
  return std::any_of(kModels.begin(), kModels.end(),
                     [&](const GpuModel& model) { return model.name == name; }) ||
         std::find(opaque_.begin(), opaque_.end(), name) != opaque_.end();
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
  for (const GpuModel& model : kModels) consider(model.name);
  for (const std::string& opaque : opaque_) consider(opaque);
  return std::string(best);
}

}  // namespace gpusched
