// How places are looked for, by name.
#ifndef GPUSCHED_BINDINGS_SEARCH_PATH_H_
#define GPUSCHED_BINDINGS_SEARCH_PATH_H_

#include <pybind11/pybind11.h>

#include <string_view>

#include "gpusched/decision/decision.h"
#include "gpusched/engine/search_options.h"

namespace gpusched::bindings {

namespace py = pybind11;

// "auto", "scan", "index" or "columns"; raises InvalidSpec for anything else.
SearchPath PathNamed(const py::object& name, std::string_view where);

// Counts by name, those above 0.
py::dict PathDict(const PathCounts& counts);

}  // namespace gpusched::bindings

#endif  // GPUSCHED_BINDINGS_SEARCH_PATH_H_
