// ShapeTable: equal requests are one object, so that everything about a request is computed once.
#ifndef GPUSCHED_STATE_SHAPE_TABLE_H_
#define GPUSCHED_STATE_SHAPE_TABLE_H_

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "gpusched/base/id.h"
#include "gpusched/state/shape.h"

namespace gpusched {

// Shapes by dense id, in order of appearance; they stay for the life of the state.
class ShapeTable {
 public:
  ShapeId Intern(const Shape& shape) {
    const auto [it, added] =
        index_.try_emplace(Key{shape}, static_cast<std::uint32_t>(shapes_.size()));
    if (added) shapes_.push_back(shape);
    return ShapeId{.slot = it->second};
  }

  bool Has(ShapeId id) const { return id.slot < shapes_.size(); }
  const Shape& operator[](ShapeId id) const { return shapes_[id.slot]; }
  // The handle of a shape that is one of ours, the object itself and not an equal one; no handle
  // for any other.
  ShapeId IdOf(const Shape& shape) const {
    const std::less<> before;
    const Shape* const first = shapes_.data();
    if (before(&shape, first) || !before(&shape, first + shapes_.size())) return {};
    return {.slot = static_cast<std::uint32_t>(&shape - first)};
  }
  std::uint32_t size() const { return static_cast<std::uint32_t>(shapes_.size()); }

 private:
  struct Key {
    Shape shape;
    friend bool operator==(const Key&, const Key&) = default;
    template <class H>
    friend H AbslHashValue(H state, const Key& key) {
      const Shape& s = key.shape;
      return H::combine(std::move(state), s.cpu_milli, s.mem_mib, s.gpu_mem_mib, s.gpu_milli,
                        s.gpu_count, s.models, s.profile, s.sharing, s.distinct_devices);
    }
  };

  std::vector<Shape> shapes_;
  absl::flat_hash_map<Key, std::uint32_t> index_;  // looked up only, never iterated
};

}  // namespace gpusched

#endif  // GPUSCHED_STATE_SHAPE_TABLE_H_
