// DeviceMask: which devices of one node, as a set of indices 0..63.
#ifndef GPUSCHED_BASE_DEVICE_MASK_H_
#define GPUSCHED_BASE_DEVICE_MASK_H_

#include <bit>
#include <cstdint>

namespace gpusched {

// Most devices that one node may have; a wider machine is entered as several nodes.
inline constexpr int kMaxDevicesPerNode = 64;

// A set of device indices. Iterate with First() and DropFirst(), lowest index first.
class DeviceMask {
 public:
  constexpr DeviceMask() = default;
  explicit constexpr DeviceMask(std::uint64_t bits) : bits_(bits) {}

  // Devices 0 to count - 1.
  static constexpr DeviceMask FirstOf(int count) {
    return DeviceMask(count >= kMaxDevicesPerNode ? ~std::uint64_t{0}
                                                  : (std::uint64_t{1} << count) - 1);
  }
  static constexpr DeviceMask Of(int device) { return DeviceMask(std::uint64_t{1} << device); }

  constexpr bool empty() const { return bits_ == 0; }
  constexpr int size() const { return std::popcount(bits_); }
  constexpr std::uint64_t bits() const { return bits_; }
  constexpr bool contains(int device) const { return ((bits_ >> device) & 1) != 0; }

  // The lowest index; the mask must not be empty.
  constexpr int First() const { return std::countr_zero(bits_); }
  constexpr void DropFirst() { bits_ &= bits_ - 1; }
  constexpr void Insert(int device) { bits_ |= std::uint64_t{1} << device; }

  friend constexpr bool operator==(DeviceMask, DeviceMask) = default;

 private:
  std::uint64_t bits_ = 0;
};

}  // namespace gpusched

#endif  // GPUSCHED_BASE_DEVICE_MASK_H_
