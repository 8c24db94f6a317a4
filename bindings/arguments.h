// What a Python caller passed, as the types of the library, or InvalidSpec that names field, value
// and remedy. Numbers are taken from anything that is one (int, float, NumPy scalars), but True is
// not 1 here, and no number is silently cut off.
#ifndef GPUSCHED_BINDINGS_ARGUMENTS_H_
#define GPUSCHED_BINDINGS_ARGUMENTS_H_

#include <pybind11/pybind11.h>

#include <cstdint>
#include <optional>
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

bool Flag(py::handle value, std::string_view where, std::string_view field);

// A whole number, or None.
std::optional<std::int64_t> NumberIf(py::handle value, std::string_view where,
                                     std::string_view field,
                                     std::string_view remedy = kQuantityRemedy);
py::object IntOrNone(const std::optional<std::int64_t>& value);
// A text that is empty if there is none, which Python sees as None.
py::object TextOrNone(const std::string& text);
// A mapping, as a dict.
py::dict Dict(py::handle value, std::string_view where, std::string_view field,
              std::string_view remedy);
// The path of a file: text, or an object with __fspath__.
std::string Path(py::handle value, std::string_view where, std::string_view field);

// Equality with anything, as Python's operator wants it.
template <class T>
py::object IsEqual(const T& self, const py::object& other) {
  if (!py::isinstance<T>(other)) return py::reinterpret_borrow<py::object>(Py_NotImplemented);
  return py::bool_(self == other.cast<const T&>());
}

// The lowest index first, as Python shows it.
py::tuple DevicesTuple(DeviceMask devices);

// CPU given as cores or as milli, but not both; 0 if neither.
std::int64_t CpuMilli(py::handle cpu, py::handle cpu_milli, std::string_view where);

// A name as repr shows it.
std::string NameText(const std::string& name);

// How a value stands in a message: its repr, shortened.
std::string Shown(py::handle value);

// Whether it may be taken for a number at all (bool aside).
bool LooksLikeNumber(py::handle value);

}  // namespace gpusched::bindings

#endif  // GPUSCHED_BINDINGS_ARGUMENTS_H_
