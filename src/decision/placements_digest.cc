#include "gpusched/decision/placements_digest.h"

#include <string>

namespace gpusched {

void PlacementsDigest::Add(std::int64_t sequence, std::string_view task, std::string_view node,
                           DeviceMask devices, std::int64_t gpu_milli) {
  digest_.AddBytes(std::to_string(sequence)).AddBytes(",").AddBytes(task).AddBytes(",");
  digest_.AddBytes(node).AddBytes(",");
  for (bool first = true; !devices.empty(); devices.DropFirst(), first = false) {
    if (!first) digest_.AddBytes("|");
    digest_.AddBytes(std::to_string(devices.First()));
  }
  digest_.AddBytes(",").AddBytes(std::to_string(gpu_milli)).AddBytes("\n");
}

}  // namespace gpusched
