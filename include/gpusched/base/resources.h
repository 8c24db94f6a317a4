// Resources: the amounts that a node has or a task asks, one integer column a dimension.
#ifndef GPUSCHED_BASE_RESOURCES_H_
#define GPUSCHED_BASE_RESOURCES_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace gpusched {

// The columns. GPU columns are sums over the devices of a node.
enum class ResourceKind : std::uint8_t {
  kCpuMilli,
  kMemMib,
  kGpuMilli,
  kGpuMemMib,
  kNetMbps,
  kCustom0,
  kCustom1,
  kCustom2,
};

inline constexpr std::size_t kResourceKinds = 8;

// The name of a column as used in specs, messages and Python: "cpu_milli", "mem_mib", …
constexpr std::string_view ResourceName(ResourceKind kind) {
  constexpr std::array<std::string_view, kResourceKinds> kNames = {
      "cpu_milli", "mem_mib", "gpu_milli", "gpu_mem_mib",
      "net_mbps",  "custom0", "custom1",   "custom2"};
  return kNames[static_cast<std::size_t>(kind)];
}

// Eight amounts in one cache line; trivially copyable, zero by default.
struct alignas(64) Resources {
  std::array<std::int64_t, kResourceKinds> amount{};

  constexpr std::int64_t& operator[](ResourceKind kind) {
    return amount[static_cast<std::size_t>(kind)];
  }
  constexpr std::int64_t operator[](ResourceKind kind) const {
    return amount[static_cast<std::size_t>(kind)];
  }
  friend constexpr bool operator==(const Resources&, const Resources&) = default;
};

static_assert(sizeof(Resources) == 64 && std::is_trivially_copyable_v<Resources>);

}  // namespace gpusched

#endif  // GPUSCHED_BASE_RESOURCES_H_
