#include "spec.h"

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "arguments.h"
#include "gpusched/spec/field_error.h"
#include "gpusched/spec/gpu_model.h"
#include "gpusched/spec/validate.h"
#include "status.h"

namespace gpusched::bindings {
namespace {

auto Fields(const ShapeSpec& s) {
  return std::tie(s.cpu_milli, s.mem_mib, s.gpu_count, s.gpu_milli, s.gpu_mem_mib, s.models);
}

void SortOnce(std::vector<std::string>& models) {
  std::sort(models.begin(), models.end());
  models.erase(std::unique(models.begin(), models.end()), models.end());
}

// Everything but whether the models are known, which depends on the cluster.
void CheckAlone(const ShapeSpec& spec) {
  ModelCatalog any;
  for (const std::string& model : spec.models) any.DeclareOpaque(model);
  RaiseIfError(Validate(spec, any));
}

[[noreturn]] void RefuseBoth(const char* first, py::handle value, const char* second) {
  Raise(InvalidField("shape", first, Shown(value),
                     absl::StrCat(second, " is given too; give one of them")));
}

// The GPU part of a request: `gpu` alone, or count and share.
GpuAsk Ask(py::handle gpu, py::handle gpu_count, py::handle gpu_milli) {
  if (!gpu.is_none()) {
    if (!gpu_count.is_none()) RefuseBoth("gpu", gpu, "gpu_count");
    if (!gpu_milli.is_none()) RefuseBoth("gpu", gpu, "gpu_milli");
    const auto ask = GpuAskFromGpus(RealNumber(gpu, "shape", "gpu"));
    if (!ask.ok()) {
      Raise(absl::Status(ask.status().code(),
                         absl::StrCat("shape: ", std::string(ask.status().message()))));
    }
    return *ask;
  }
  GpuAsk ask;
  if (!gpu_milli.is_none()) ask.milli = WholeNumber(gpu_milli, "shape", "gpu_milli");
  if (!gpu_count.is_none()) {
    ask.count = WholeNumber(gpu_count, "shape", "gpu_count");
    if (gpu_milli.is_none() && ask.count != 0) ask.milli = kMilli;
  } else if (ask.milli != 0) {
    ask.count = 1;
  }
  return ask;
}

PyShape MakeShape(py::handle cpu, py::handle cpu_milli, py::handle mem_mib, py::handle gpu,
                  py::handle gpu_count, py::handle gpu_milli, py::handle gpu_mem_mib,
                  py::handle models) {
  PyShape shape;
  ShapeSpec& spec = shape.spec;
  spec.cpu_milli = CpuMilli(cpu, cpu_milli, "shape");
  spec.mem_mib = WholeNumber(mem_mib, "shape", "mem_mib");
  const GpuAsk ask = Ask(gpu, gpu_count, gpu_milli);
  spec.gpu_count = ask.count;
  spec.gpu_milli = ask.milli;
  spec.gpu_mem_mib = WholeNumber(gpu_mem_mib, "shape", "gpu_mem_mib");
  spec.models = Texts(models, "shape", "models");
  SortOnce(spec.models);
  CheckAlone(spec);
  return shape;
}

py::tuple ModelsTuple(const ShapeSpec& spec) {
  py::tuple models(spec.models.size());
  for (std::size_t i = 0; i < spec.models.size(); ++i) models[i] = py::str(spec.models[i]);
  return models;
}

py::tuple Pickled(const PyShape& shape) {
  const ShapeSpec& s = shape.spec;
  return py::make_tuple(s.cpu_milli, s.mem_mib, s.gpu_count, s.gpu_milli, s.gpu_mem_mib,
                        ModelsTuple(s));
}

}  // namespace

PyShape ShapeOf(ShapeSpec spec) {
  SortOnce(spec.models);
  return {.spec = std::move(spec), .id = {}};
}

ShapeSpec SpecOf(const ClusterState& state, const Shape& shape) {
  ShapeSpec spec{.cpu_milli = shape.cpu_milli,
                 .mem_mib = shape.mem_mib,
                 .gpu_count = shape.gpu_count,
                 .gpu_milli = shape.gpu_milli,
                 .gpu_mem_mib = shape.gpu_mem_mib,
                 .models = {}};
  if (shape.models != kAnyModel) {
    for (std::uint32_t i = 0; i < state.models().size(); ++i) {
      if (((shape.models >> i) & 1) != 0) spec.models.emplace_back(state.models().name(i));
    }
  }
  return spec;
}

std::string ShapeText(const ShapeSpec& spec) {
  std::vector<std::string> parts;
  const auto add = [&](const char* field, std::int64_t value) {
    if (value != 0) parts.push_back(absl::StrCat(field, "=", value));
  };
  add("cpu_milli", spec.cpu_milli);
  add("mem_mib", spec.mem_mib);
  if (spec.gpu_count == 1 && spec.gpu_milli < kMilli) {
    add("gpu_milli", spec.gpu_milli);
  } else {
    add("gpu_count", spec.gpu_count);
  }
  add("gpu_mem_mib", spec.gpu_mem_mib);
  if (!spec.models.empty()) {
    parts.push_back(absl::StrCat("models=['", absl::StrJoin(spec.models, "', '"), "']"));
  }
  return absl::StrCat("Shape(", absl::StrJoin(parts, ", "), ")");
}

void BindSpec(py::module_& module) {
  py::class_<PyShape>(module, "Shape", R"(What one task asks: CPU, memory and GPU. Immutable.

Equal shapes compare equal and hash alike. A shape belongs to no cluster and may be used with any.

>>> import libgpusched as gs
>>> gs.Shape(cpu=8, mem_mib=32768, gpu=0.5)
Shape(cpu_milli=8000, mem_mib=32768, gpu_milli=500)
>>> gs.Shape(cpu=8, gpu=0.5) == gs.Shape(cpu_milli=8000, gpu_milli=500)
True)")
      .def(py::init(&MakeShape), py::kw_only(), py::arg("cpu") = py::none(),
           py::arg("cpu_milli") = py::none(), py::arg("mem_mib") = 0, py::arg("gpu") = py::none(),
           py::arg("gpu_count") = py::none(), py::arg("gpu_milli") = py::none(),
           py::arg("gpu_mem_mib") = 0, py::arg("models") = py::tuple(), R"(Describes a request.

cpu: CPU in cores (1.5 is fine), or cpu_milli: in thousandths of a core.
mem_mib: memory in MiB.
gpu: a share of one device below 1 (0.5), or a whole number of devices; rounded once to a
    thousandth. Or gpu_count with gpu_milli: that many thousandths of each device.
gpu_mem_mib: memory on each of the devices, in MiB; 0 claims none.
models: names of the GPU models that will do; empty: any.

Raises InvalidSpec naming the field, the value and the remedy.)")
      .def_property_readonly(
          "cpu_milli", [](const PyShape& s) { return s.spec.cpu_milli; },
          "CPU in thousandths of a core.")
      .def_property_readonly(
          "mem_mib", [](const PyShape& s) { return s.spec.mem_mib; }, "Memory in MiB.")
      .def_property_readonly(
          "gpu_count", [](const PyShape& s) { return s.spec.gpu_count; },
          "How many devices; 1 for a share of one.")
      .def_property_readonly(
          "gpu_milli", [](const PyShape& s) { return s.spec.gpu_milli; },
          "Thousandths of each device; 1000 is a whole one.")
      .def_property_readonly(
          "gpu_mem_mib", [](const PyShape& s) { return s.spec.gpu_mem_mib; },
          "Memory on each device in MiB.")
      .def_property_readonly(
          "models", [](const PyShape& s) { return ModelsTuple(s.spec); },
          "The models that will do, sorted; empty: any.")
      .def("__eq__",
           [](const PyShape& a, const py::object& other) -> py::object {
             if (!py::isinstance<PyShape>(other)) {
               return py::reinterpret_borrow<py::object>(Py_NotImplemented);
             }
             return py::bool_(Fields(a.spec) == Fields(other.cast<const PyShape&>().spec));
           })
      .def("__hash__", [](const PyShape& s) { return py::hash(Pickled(s)); })
      .def("__repr__", [](const PyShape& s) { return ShapeText(s.spec); })
      .def(py::pickle(&Pickled, [](const py::tuple& state) {
        return MakeShape(py::none(), state[0], state[1], py::none(), state[2], state[3], state[4],
                         state[5]);
      }));
}

}  // namespace gpusched::bindings
