#include "arguments.h"

#include <cstddef>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gpusched/spec/field_error.h"
#include "gpusched/spec/validate.h"
#include "status.h"

namespace gpusched::bindings {
namespace {

[[noreturn]] void Refuse(py::handle value, std::string_view where, std::string_view field,
                         std::string_view remedy) {
  PyErr_Clear();  // what went wrong underneath is replaced by what to do about it
  Raise(InvalidField(where, field, Shown(value), remedy));
}

bool IsBool(py::handle value) {
  if (PyBool_Check(value.ptr())) return true;
  // NumPy's own, which is no subclass; the name differs between its versions.
  const std::string_view type = Py_TYPE(value.ptr())->tp_name;
  return type == "numpy.bool" || type == "numpy.bool_";
}

// Items of an iterable that is no text.
py::list Items(py::handle value, std::string_view where, std::string_view field,
               std::string_view remedy) {
  PyObject* list = PyUnicode_Check(value.ptr()) ? nullptr : PySequence_List(value.ptr());
  if (list == nullptr) Refuse(value, where, field, remedy);
  return py::reinterpret_steal<py::list>(list);
}

absl::Status Within(std::string_view where, const absl::Status& status) {
  return absl::Status(status.code(),
                      absl::StrCat(std::string(where), ": ", std::string(status.message())));
}

}  // namespace

std::string Shown(py::handle value) {
  constexpr Py_ssize_t kLongest = 60;
  const auto text = py::reinterpret_steal<py::object>(PyObject_Repr(value.ptr()));
  if (!text) {
    // Python refuses to print integers of thousands of digits.
    PyErr_Clear();
    return absl::StrCat("an object of type ", Py_TYPE(value.ptr())->tp_name);
  }
  const auto head = py::reinterpret_steal<py::object>(PyUnicode_Substring(text.ptr(), 0, kLongest));
  const char* utf8 = head ? PyUnicode_AsUTF8(head.ptr()) : nullptr;
  if (utf8 == nullptr) {
    PyErr_Clear();
    return absl::StrCat("an object of type ", Py_TYPE(value.ptr())->tp_name);
  }
  return absl::StrCat(utf8, PyUnicode_GetLength(text.ptr()) > kLongest ? "…" : "");
}

std::string NameText(const std::string& name) {
  return py::repr(py::str(name)).cast<std::string>();
}

bool LooksLikeNumber(py::handle value) {
  const PyNumberMethods* methods = Py_TYPE(value.ptr())->tp_as_number;
  return methods != nullptr && (methods->nb_float != nullptr || methods->nb_index != nullptr);
}

std::int64_t WholeNumber(py::handle value, std::string_view where, std::string_view field,
                         std::string_view remedy) {
  if (IsBool(value) || PyIndex_Check(value.ptr()) == 0) Refuse(value, where, field, remedy);
  const auto index = py::reinterpret_steal<py::object>(PyNumber_Index(value.ptr()));
  if (!index) Refuse(value, where, field, remedy);
  int overflow = 0;
  const long long number = PyLong_AsLongLongAndOverflow(index.ptr(), &overflow);
  if (overflow != 0) Refuse(value, where, field, remedy);
  return number;
}

bool Flag(py::handle value, std::string_view where, std::string_view field) {
  if (!py::isinstance<py::bool_>(value)) {
    Raise(InvalidField(where, field, Shown(value), "use True or False"));
  }
  return value.cast<bool>();
}

std::optional<std::int64_t> NumberIf(py::handle value, std::string_view where,
                                     std::string_view field, std::string_view remedy) {
  if (value.is_none()) return std::nullopt;
  return WholeNumber(value, where, field, remedy);
}

py::object IntOrNone(const std::optional<std::int64_t>& value) {
  return value ? py::object(py::int_(*value)) : py::none();
}

py::object TextOrNone(const std::string& text) {
  return text.empty() ? py::none() : py::object(py::str(text));
}

py::dict Dict(py::handle value, std::string_view where, std::string_view field,
              std::string_view remedy) {
  if (!py::hasattr(value, "keys")) Refuse(value, where, field, remedy);
  py::dict dict;
  if (PyDict_Update(dict.ptr(), value.ptr()) != 0) Refuse(value, where, field, remedy);
  return dict;
}

std::string Path(py::handle value, std::string_view where, std::string_view field) {
  const auto path = py::reinterpret_steal<py::object>(PyOS_FSPath(value.ptr()));
  if (!path || !PyUnicode_Check(path.ptr())) {
    Refuse(value, where, field, "use the path of a file, as text or pathlib.Path");
  }
  std::string text = Text(path, where, field);
  if (text.empty() || text.find('\0') != std::string::npos) {
    Refuse(value, where, field, "use a path that a file can have");
  }
  return text;
}

std::uint64_t Seed(py::handle value, std::string_view where, std::string_view field) {
  constexpr std::string_view kRemedy = "use a whole number, 0 to 2**64 - 1";
  if (IsBool(value) || PyIndex_Check(value.ptr()) == 0) Refuse(value, where, field, kRemedy);
  const auto index = py::reinterpret_steal<py::object>(PyNumber_Index(value.ptr()));
  if (!index) Refuse(value, where, field, kRemedy);
  const unsigned long long number = PyLong_AsUnsignedLongLong(index.ptr());
  if (PyErr_Occurred() != nullptr) Refuse(value, where, field, kRemedy);
  return number;
}

double RealNumber(py::handle value, std::string_view where, std::string_view field) {
  if (IsBool(value) || !LooksLikeNumber(value)) Refuse(value, where, field, "use a number");
  const auto number = py::reinterpret_steal<py::object>(PyNumber_Float(value.ptr()));
  if (!number) Refuse(value, where, field, "use a number of a size that makes sense");
  return PyFloat_AS_DOUBLE(number.ptr());
}

std::string Text(py::handle value, std::string_view where, std::string_view field) {
  if (!PyUnicode_Check(value.ptr())) Refuse(value, where, field, "use text");
  Py_ssize_t size = 0;
  const char* utf8 = PyUnicode_AsUTF8AndSize(value.ptr(), &size);
  if (utf8 == nullptr) Refuse(value, where, field, "use text that can be written as UTF-8");
  return std::string(utf8, static_cast<std::size_t>(size));
}

std::vector<std::string> Texts(py::handle value, std::string_view where, std::string_view field) {
  if (PyUnicode_Check(value.ptr())) return {Text(value, where, field)};
  std::vector<std::string> texts;
  for (const py::handle item : Items(value, where, field, "use a list of names")) {
    texts.push_back(Text(item, where, absl::StrCat(std::string(field), "[", texts.size(), "]")));
  }
  return texts;
}

DeviceMask Devices(py::handle value, std::string_view where) {
  DeviceMask mask;
  for (const py::handle item : Items(value, where, "devices", "use a list of device indices")) {
    const std::int64_t index = WholeNumber(item, where, "devices", "use indices from 0 to 63");
    if (index < 0 || index >= kMaxDevicesPerNode) {
      Refuse(value, where, "devices", "use indices from 0 to 63");
    }
    if (mask.contains(static_cast<int>(index))) {
      Refuse(value, where, "devices", "name each device once");
    }
    mask.Insert(static_cast<int>(index));
  }
  return mask;
}

py::tuple DevicesTuple(DeviceMask devices) {
  py::tuple indices(static_cast<std::size_t>(devices.size()));
  for (std::size_t i = 0; !devices.empty(); devices.DropFirst(), ++i) {
    indices[i] = py::int_(devices.First());
  }
  return indices;
}

std::int64_t CpuMilli(py::handle cpu, py::handle cpu_milli, std::string_view where) {
  if (!cpu.is_none() && !cpu_milli.is_none()) {
    Refuse(cpu, where, "cpu", "cpu_milli is given too; give one of them");
  }
  if (!cpu_milli.is_none()) return WholeNumber(cpu_milli, where, "cpu_milli");
  if (cpu.is_none()) return 0;
  const auto milli = CpuMilliFromCores(RealNumber(cpu, where, "cpu"));
  if (!milli.ok()) Raise(Within(where, milli.status()));
  return *milli;
}

}  // namespace gpusched::bindings
