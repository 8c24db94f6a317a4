// What a Python caller passed, as the types of the library, or InvalidSpec that names field, value
// and remedy. Numbers are taken from anything that is one (int, float, NumPy scalars), but True is
// not 1 here, and no number is silently cut off.
#ifndef GPUSCHED_BINDINGS_ARGUMENTS_H_
#define GPUSCHED_BINDINGS_ARGUMENTS_H_

#include <pybind11/pybind11.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gpusched/base/device_mask.h"

namespace gpusched::bindings {

namespace py = pybind11;

inline constexpr std::string_view kQuantityRemedy = "use a whole number, 0 to 1099511627776";

// `where` names the object ("node 'n1'"; may be empty), `field` the argument.
std::int64_t WholeNumber(py::handle value, std::string_view where, std::string_view field,
                         std::string_view remedy = kQuantityRemedy);
std::uint64_t Seed(py::handle value, std::string_view where, std::string_view field);
double RealNumber(py::handle value, std::string_view where, std::string_view field);
std::string Text(py::handle value, std::string_view where, std::string_view field);
// Any iterable of text; a single text counts as a list of one.
std::vector<std::string> Texts(py::handle value, std::string_view where, std::string_view field);
// Any iterable of device indices, each once.
DeviceMask Devices(py::handle value, std::string_view where);

// The lowest index first, as Python shows it.
py::tuple DevicesTuple(DeviceMask devices);

// CPU given as cores or as milli, but not both; 0 if neither.
std::int64_t CpuMilli(py::handle cpu, py::handle cpu_milli, std::string_view where);

// How a value stands in a message: its repr, shortened.
std::string Shown(py::handle value);

// Whether it may be taken for a number at all (bool aside).
bool LooksLikeNumber(py::handle value);

}  // namespace gpusched::bindings

#endif  // GPUSCHED_BINDINGS_ARGUMENTS_H_
