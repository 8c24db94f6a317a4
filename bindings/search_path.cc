#include "search_path.h"

#include <cstddef>
#include <optional>
#include <string>

#include "arguments.h"
#include "gpusched/spec/field_error.h"
#include "status.h"

namespace gpusched::bindings {

SearchPath PathNamed(const py::object& name, std::string_view where) {
  std::optional<SearchPath> path;
  if (py::isinstance<py::str>(name)) path = SearchPathNamed(name.cast<std::string>());
  if (!path)
    Raise(InvalidField(where, "path", Shown(name), "use 'auto', 'scan', 'index' or 'columns'"));
  return *path;
}

py::dict PathDict(const PathCounts& counts) {
  py::dict named;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] == 0) continue;
    named[py::str(std::string(DecisionPathName(static_cast<DecisionPath>(i))))] = counts[i];
  }
  return named;
}

}  // namespace gpusched::bindings
