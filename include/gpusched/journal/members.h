// Members: all members of a struct at once, for code that must not forget one.
#ifndef GPUSCHED_JOURNAL_MEMBERS_H_
#define GPUSCHED_JOURNAL_MEMBERS_H_

#include <cstddef>
#include <tuple>
#include <type_traits>

namespace gpusched {

// How many members a plain struct has, if it is one that journal/bytes.h writes and reads: to be
// specialised once, where the struct is declared or in journal/codec.h. A number that is not, or no
// longer, right does not compile.
template <class T>
inline constexpr std::size_t kMembers = 0;

// How many values an enum has, counted from 0, if it is one that journal/bytes.h writes and reads.
template <class T>
inline constexpr std::size_t kEnumValues = 0;

// A struct, const or not, whose members are counted.
template <class T>
concept CodedStruct = kMembers<std::remove_const_t<T>> >
0;

// An enum whose values are counted.
template <class T>
concept CodedEnum = std::is_enum_v<T> &&(kEnumValues<T> > 0);

// References to all members of a struct, in order of declaration.
template <CodedStruct T>
constexpr auto Members(T& value) {
  constexpr std::size_t kCount = kMembers<std::remove_const_t<T>>;
  static_assert(kCount <= 16, "this needs a line for so many members");
  if constexpr (kCount == 1) {
    auto& [a] = value;
    return std::tie(a);
  } else if constexpr (kCount == 2) {
    auto& [a, b] = value;
    return std::tie(a, b);
  } else if constexpr (kCount == 3) {
    auto& [a, b, c] = value;
    return std::tie(a, b, c);
  } else if constexpr (kCount == 4) {
    auto& [a, b, c, d] = value;
    return std::tie(a, b, c, d);
  } else if constexpr (kCount == 5) {
    auto& [a, b, c, d, e] = value;
    return std::tie(a, b, c, d, e);
  } else if constexpr (kCount == 6) {
    auto& [a, b, c, d, e, f] = value;
    return std::tie(a, b, c, d, e, f);
  } else if constexpr (kCount == 7) {
    auto& [a, b, c, d, e, f, g] = value;
    return std::tie(a, b, c, d, e, f, g);
  } else if constexpr (kCount == 8) {
    auto& [a, b, c, d, e, f, g, h] = value;
    return std::tie(a, b, c, d, e, f, g, h);
  } else if constexpr (kCount == 9) {
    auto& [a, b, c, d, e, f, g, h, i] = value;
    return std::tie(a, b, c, d, e, f, g, h, i);
  } else if constexpr (kCount == 10) {
    auto& [a, b, c, d, e, f, g, h, i, j] = value;
    return std::tie(a, b, c, d, e, f, g, h, i, j);
  } else if constexpr (kCount == 11) {
    auto& [a, b, c, d, e, f, g, h, i, j, k] = value;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k);
  } else if constexpr (kCount == 12) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l] = value;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l);
  } else if constexpr (kCount == 13) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m] = value;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m);
  } else if constexpr (kCount == 14) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n] = value;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, n);
  } else if constexpr (kCount == 15) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o] = value;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o);
  } else {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = value;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p);
  }
}

}  // namespace gpusched

#endif  // GPUSCHED_JOURNAL_MEMBERS_H_
