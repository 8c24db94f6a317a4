// Random values of every type that journal/bytes.h writes, and whether two of them are the same.
// Both go by Members, so a member that is added to a struct is filled and compared without a word
// here.
#ifndef GPUSCHED_TESTS_JOURNAL_RANDOM_VALUES_H_
#define GPUSCHED_TESTS_JOURNAL_RANDOM_VALUES_H_

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "gpusched/base/device_mask.h"
#include "gpusched/base/rng.h"
#include "gpusched/decision/plan.h"
#include "gpusched/journal/codec.h"
#include "gpusched/journal/members.h"

namespace gpusched {

inline void Fill(Rng& rng, bool& value) { value = rng.Below(2) == 1; }

// Limits and small numbers are as likely as all others together.
template <std::integral T>
requires(!std::same_as<T, bool>) void Fill(Rng& rng, T& value) {
  switch (rng.Below(4)) {
    case 0:
      value = rng.Below(2) == 0 ? std::numeric_limits<T>::min() : std::numeric_limits<T>::max();
      break;
    case 1:
      value = static_cast<T>(static_cast<std::int64_t>(rng.Below(5)) - 2);
      break;
    default:
      value = static_cast<T>(rng.Next() >> rng.Below(64));
  }
}

template <CodedEnum T>
void Fill(Rng& rng, T& value) {
  value = static_cast<T>(rng.Below(kEnumValues<T>));
}

inline void Fill(Rng& rng, std::string& text) {
  text.resize(rng.Below(20) == 0 ? 200 : rng.Below(12));
  for (char& c : text) c = static_cast<char>(rng.Next() & 0xFF);
}

inline void Fill(Rng& rng, DeviceMask& devices) {
  std::uint64_t bits = 0;
  Fill(rng, bits);
  devices = DeviceMask(bits);
}

template <class T>
void Fill(Rng& rng, std::optional<T>& value) {
  value.reset();
  if (rng.Below(2) == 0) Fill(rng, value.emplace());
}

template <class T>
void Fill(Rng& rng, std::vector<T>& list) {
  list.clear();
  list.resize(rng.Below(4));
  for (T& item : list) Fill(rng, item);
}

template <class... Ts>
void Fill(Rng& rng, std::variant<Ts...>& value) {
  const std::uint64_t index = rng.Below(sizeof...(Ts));
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    ((I == index ? Fill(rng, value.template emplace<I>()) : void()), ...);
  }
  (std::index_sequence_for<Ts...>());
}

template <CodedStruct T>
void Fill(Rng& rng, T& value) {
  std::apply([&rng](auto&... member) { (Fill(rng, member), ...); }, Members(value));
}

inline void Fill(Rng& rng, Plan& plan) {
  Time now = 0;
  std::uint64_t version = 0;
  std::uint64_t searches = 0;
  std::vector<Step> steps;
  Fill(rng, now);
  Fill(rng, version);
  Fill(rng, searches);
  Fill(rng, steps);
  plan = Plan(now, version, searches, std::move(steps));
}

template <class T>
T RandomValue(Rng& rng) {
  T value;
  Fill(rng, value);
  return value;
}

template <std::equality_comparable T>
requires(!CodedStruct<T>) bool Same(const T& a, const T& b) { return a == b; }
template <class T>
bool Same(const std::optional<T>& a, const std::optional<T>& b) {
  return a.has_value() == b.has_value() && (!a.has_value() || Same(*a, *b));
}
template <class T>
bool Same(const std::vector<T>& a, const std::vector<T>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!Same(a[i], b[i])) return false;
  }
  return true;
}
template <class... Ts>
bool Same(const std::variant<Ts...>& a, const std::variant<Ts...>& b) {
  if (a.index() != b.index()) return false;
  return std::visit([&b](const auto& x) { return Same(x, std::get<std::decay_t<decltype(x)>>(b)); },
                    a);
}
template <CodedStruct T>
bool Same(const T& a, const T& b) {
  const auto members_of_a = Members(a);
  const auto members_of_b = Members(b);
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return (Same(std::get<I>(members_of_a), std::get<I>(members_of_b)) && ...);
  }
  (std::make_index_sequence<kMembers<T>>());
}

}  // namespace gpusched

#endif  // GPUSCHED_TESTS_JOURNAL_RANDOM_VALUES_H_
