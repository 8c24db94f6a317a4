// ByteWriter and ByteReader: values as bytes, the same on every machine.
//
// Each value has exactly one encoding: equal values give equal bytes, and what the reader accepts
// the writer gives back. Numbers are LEB128 varints (7 bits a byte, least significant first, the
// top bit says that more follows), signed ones after zigzag (0, -1, 1, -2, …); text and lists have
// their length before them; an optional is a list of none or one; an enum is its number; a variant
// is its index, then the alternative; a struct is its members in order.
#ifndef GPUSCHED_JOURNAL_BYTES_H_
#define GPUSCHED_JOURNAL_BYTES_H_

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "gpusched/journal/members.h"

namespace gpusched {

// Appends to a string of its own.
class ByteWriter {
 public:
  void Unsigned(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) Byte(static_cast<std::uint8_t>(value | 0x80));
    Byte(static_cast<std::uint8_t>(value));
  }
  void Signed(std::int64_t value) {
    const auto bits = static_cast<std::uint64_t>(value);
    Unsigned((bits << 1) ^ (value < 0 ? ~std::uint64_t{0} : 0));
  }
  // 8 bytes, least significant first: for what has no small values.
  void Fixed64(std::uint64_t value) {
    for (int shift = 0; shift < 64; shift += 8) Byte(static_cast<std::uint8_t>(value >> shift));
  }
  void Byte(std::uint8_t byte) { bytes_.push_back(static_cast<char>(byte)); }
  // Length, then bytes.
  void Text(std::string_view text) {
    Unsigned(text.size());
    Raw(text);
  }
  // Bytes without a length.
  void Raw(std::string_view bytes) { bytes_.append(bytes); }

  const std::string& bytes() const { return bytes_; }
  // The bytes; the writer is empty afterwards.
  std::string Take() { return std::exchange(bytes_, {}); }

 private:
  std::string bytes_;
};

// Reads what ByteWriter wrote, from bytes that may be anything and that must outlive it. Each call
// answers whether it worked; once one has not, none does, and position() stays where that was.
// Never looks outside its bytes, and never reserves room for more than they can hold.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : bytes_(bytes) {}

  bool ok() const { return ok_; }
  // Whether all went well and nothing is left.
  bool AtEnd() const { return ok_ && position_ == bytes_.size(); }
  std::size_t position() const { return position_; }
  std::size_t remaining() const { return bytes_.size() - position_; }

  // Says that what was read last makes no sense.
  bool Fail() { return ok_ = false; }

  bool Unsigned(std::uint64_t& value) {
    std::uint64_t bits = 0;
    for (std::size_t i = 0; ok_ && i < remaining(); ++i) {
      const auto byte = static_cast<std::uint8_t>(bytes_[position_ + i]);
      // Of the tenth byte there is room for one bit.
      if (i == 9 && byte > 1) break;
      bits |= static_cast<std::uint64_t>(byte & 0x7F) << (7 * i);
      if (byte >= 0x80) continue;
      if (byte == 0 && i > 0) break;  // a longer encoding than needed
      position_ += i + 1;
      value = bits;
      return true;
    }
    return Fail();
  }
  bool Signed(std::int64_t& value) {
    std::uint64_t bits = 0;
    if (!Unsigned(bits)) return false;
    value = static_cast<std::int64_t>((bits >> 1) ^ (0 - (bits & 1)));
    return true;
  }
  bool Fixed64(std::uint64_t& value) {
    std::string_view bytes;
    if (!Raw(8, bytes)) return false;
    value = 0;
    for (std::size_t i = 8; i > 0; --i) {
      value = value << 8 | static_cast<std::uint8_t>(bytes[i - 1]);
    }
    return true;
  }
  bool Byte(std::uint8_t& value) {
    std::string_view bytes;
    if (!Raw(1, bytes)) return false;
    value = static_cast<std::uint8_t>(bytes[0]);
    return true;
  }
  // A number below `bound`.
  bool Below(std::uint64_t bound, std::uint64_t& value) {
    const std::size_t start = position_;
    if (!Unsigned(value)) return false;
    if (value < bound) return true;
    position_ = start;
    return Fail();
  }
  // How many things follow, each of which takes at least one byte.
  bool Length(std::uint64_t& value) {
    const std::size_t start = position_;
    if (!Unsigned(value)) return false;
    if (value <= remaining()) return true;
    position_ = start;
    return Fail();
  }
  // A view of the bytes read from.
  bool Text(std::string_view& text) {
    std::uint64_t length = 0;
    return Length(length) && Raw(length, text);
  }
  // A view of the next `length` bytes.
  bool Raw(std::uint64_t length, std::string_view& bytes) {
    if (!ok_ || length > remaining()) return Fail();
    bytes = bytes_.substr(position_, length);
    position_ += length;
    return true;
  }

 private:
  std::string_view bytes_;
  std::size_t position_ = 0;
  bool ok_ = true;
};

// Write(out, value) appends a value; Read(in, value) reads one, and answers whether it worked. If
// not, the value is anything that its type allows.

template <std::same_as<bool> T>
void Write(ByteWriter& out, T value) {
  out.Unsigned(value ? 1 : 0);
}
template <std::same_as<bool> T>
bool Read(ByteReader& in, T& value) {
  std::uint64_t number = 0;
  if (!in.Below(2, number)) return false;
  value = number == 1;
  return true;
}

template <std::integral T>
requires(!std::same_as<T, bool>) void Write(ByteWriter& out, T value) {
  if constexpr (std::is_signed_v<T>) {
    out.Signed(value);
  } else {
    out.Unsigned(value);
  }
}
template <std::integral T>
requires(!std::same_as<T, bool>) bool Read(ByteReader& in, T& value) {
  std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t> number = 0;
  if constexpr (std::is_signed_v<T>) {
    if (!in.Signed(number)) return false;
  } else {
    if (!in.Unsigned(number)) return false;
  }
  if (!std::in_range<T>(number)) return in.Fail();
  value = static_cast<T>(number);
  return true;
}

template <CodedEnum T>
void Write(ByteWriter& out, T value) {
  out.Unsigned(static_cast<std::uint64_t>(value));
}
template <CodedEnum T>
bool Read(ByteReader& in, T& value) {
  std::uint64_t number = 0;
  if (!in.Below(kEnumValues<T>, number)) return false;
  value = static_cast<T>(number);
  return true;
}

inline void Write(ByteWriter& out, const std::string& text) { out.Text(text); }
inline bool Read(ByteReader& in, std::string& text) {
  std::string_view view;
  if (!in.Text(view)) return false;
  text.assign(view);
  return true;
}

template <class T>
void Write(ByteWriter& out, const std::optional<T>& value) {
  out.Unsigned(value.has_value() ? 1 : 0);
  if (value.has_value()) Write(out, *value);
}
template <class T>
bool Read(ByteReader& in, std::optional<T>& value) {
  std::uint64_t there = 0;
  value.reset();
  if (!in.Below(2, there)) return false;
  return there == 0 || Read(in, value.emplace());
}

template <class T>
void Write(ByteWriter& out, const std::vector<T>& list) {
  out.Unsigned(list.size());
  for (const T& item : list) Write(out, item);
}
template <class T>
bool Read(ByteReader& in, std::vector<T>& list) {
  std::uint64_t length = 0;
  list.clear();
  if (!in.Length(length)) return false;
  // Not reserved: an item may be much larger than the one byte that Length counts for it.
  for (std::uint64_t i = 0; i < length; ++i) {
    if (!Read(in, list.emplace_back())) return false;
  }
  return true;
}

template <class... Ts>
void Write(ByteWriter& out, const std::variant<Ts...>& value) {
  out.Unsigned(value.index());
  std::visit([&out](const auto& alternative) { Write(out, alternative); }, value);
}
template <class... Ts>
bool Read(ByteReader& in, std::variant<Ts...>& value) {
  std::uint64_t index = 0;
  if (!in.Below(sizeof...(Ts), index)) return false;
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return ((I == index && Read(in, value.template emplace<I>())) || ...);
  }
  (std::index_sequence_for<Ts...>());
}

template <CodedStruct T>
void Write(ByteWriter& out, const T& value) {
  std::apply([&out](const auto&... member) { (Write(out, member), ...); }, Members(value));
}
template <CodedStruct T>
bool Read(ByteReader& in, T& value) {
  return std::apply([&in](auto&... member) { return (Read(in, member) && ...); }, Members(value));
}

}  // namespace gpusched

#endif  // GPUSCHED_JOURNAL_BYTES_H_
