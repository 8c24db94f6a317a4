// A 64-bit digest of a byte stream, for comparing runs and states; not for security.
#ifndef GPUSCHED_BASE_DIGEST_H_
#define GPUSCHED_BASE_DIGEST_H_

#include <cstdint>
#include <string_view>

namespace gpusched {

// FNV-1a with 64 bits (Fowler, Noll, Vo; draft-eastlake-fnv). Chosen because anyone can recompute
// it in five lines of any language. Numbers enter as 8 bytes, least significant first; text enters
// as its bytes, and AddField ends it so that ("ab", "c") and ("a", "bc") differ.
class Digest {
 public:
  constexpr Digest& AddBytes(std::string_view bytes) {
    for (const char c : bytes) AddByte(static_cast<std::uint8_t>(c));
    return *this;
  }
  constexpr Digest& AddField(std::string_view text) {
    AddNumber(static_cast<std::int64_t>(text.size()));
    return AddBytes(text);
  }
  constexpr Digest& AddNumber(std::int64_t number) {
    const auto bits = static_cast<std::uint64_t>(number);
    for (int shift = 0; shift < 64; shift += 8) AddByte(static_cast<std::uint8_t>(bits >> shift));
    return *this;
  }

  constexpr std::uint64_t value() const { return value_; }

 private:
  constexpr void AddByte(std::uint8_t byte) { value_ = (value_ ^ byte) * 0x100000001b3ULL; }

  std::uint64_t value_ = 0xcbf29ce484222325ULL;
};

}  // namespace gpusched

#endif  // GPUSCHED_BASE_DIGEST_H_
