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
#include "sharing.h"
#include "status.h"

namespace gpusched::bindings {
namespace {

auto Fields(const ShapeSpec& s) {
  return std::tie(s.cpu_milli, s.mem_mib, s.gpu_count, s.gpu_milli, s.gpu_mem_mib, s.models,
                  s.mig_profile, s.sharing, s.distinct_devices);
}

template <class T>
void SortOnce(std::vector<T>& values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

// Everything but whether the models and the profile are known, which depends on the cluster.
void CheckAlone(ShapeSpec spec) {
  ModelCatalog any;
  for (const std::string& model : spec.models) any.DeclareOpaque(model);
  if (!spec.mig_profile.empty()) {
    any.Put(MigGeometrySpec{
        .name = "any",
        .compute_slices = 1,
        .memory_slices = 1,
        .profiles =
            {{.name = spec.mig_profile, .compute_slices = 1, .memory_slices = 1, .starts = {0}}},
        .unsourced = {}});
    spec.models.clear();
  }
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
                  py::handle models, py::handle mig, py::handle sharing,
                  py::handle distinct_devices) {
  PyShape shape;
  ShapeSpec& spec = shape.spec;
  spec.cpu_milli = CpuMilli(cpu, cpu_milli, "shape");
  spec.mem_mib = WholeNumber(mem_mib, "shape", "mem_mib");
  spec.gpu_mem_mib = WholeNumber(gpu_mem_mib, "shape", "gpu_mem_mib");
  if (!mig.is_none()) {
    spec.mig_profile = Text(mig, "shape", "mig");
    if (spec.mig_profile.empty()) {
      Raise(InvalidField("shape", "mig", "''", "name a profile, or leave it out"));
    }
  }
  for (const std::string& mode : Texts(sharing, "shape", "sharing")) {
    spec.sharing.push_back(SharingModeOf(py::str(mode), "shape", "sharing"));
  }
  SortOnce(spec.sharing);
  spec.distinct_devices = Flag(distinct_devices, "shape", "distinct_devices");
  // Instances, memory and replicas are asked without a share.
  const bool other = !spec.mig_profile.empty() || spec.gpu_mem_mib > 0 || !spec.sharing.empty();
  if (other && gpu.is_none() && gpu_milli.is_none()) {
    const bool counted = !gpu_count.is_none();
    spec.gpu_count = counted ? WholeNumber(gpu_count, "shape", "gpu_count") : 1;
    // So many devices with so much memory each are whole ones.
    if (counted && spec.mig_profile.empty() && spec.sharing.empty()) spec.gpu_milli = kMilli;
    if (spec.gpu_count == 0) spec.gpu_milli = 0;
  } else {
    const GpuAsk ask = Ask(gpu, gpu_count, gpu_milli);
    spec.gpu_count = ask.count;
    spec.gpu_milli = ask.milli;
  }
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
  py::tuple modes(s.sharing.size());
  for (std::size_t i = 0; i < s.sharing.size(); ++i) {
    modes[i] = py::str(std::string(SharingModeName(s.sharing[i])));
  }
  return py::make_tuple(s.cpu_milli, s.mem_mib, s.gpu_count, s.gpu_milli, s.gpu_mem_mib,
                        ModelsTuple(s), TextOrNone(s.mig_profile), modes, s.distinct_devices);
}

}  // namespace

PyShape ShapeOf(ShapeSpec spec) {
  SortOnce(spec.models);
  return {.spec = std::move(spec), .id = {}};
}

ShapeSpec SpecOf(const ClusterState& state, const Shape& shape) { return state.SpecOf(shape); }

std::string ShapeText(const ShapeSpec& spec) {
  std::vector<std::string> parts;
  const auto add = [&](const char* field, std::int64_t value) {
    if (value != 0) parts.push_back(absl::StrCat(field, "=", value));
  };
  add("cpu_milli", spec.cpu_milli);
  add("mem_mib", spec.mem_mib);
  if (!spec.mig_profile.empty()) {
    if (spec.gpu_count != 1) add("gpu_count", spec.gpu_count);
    parts.push_back(absl::StrCat("mig='", spec.mig_profile, "'"));
  } else if (spec.gpu_count == 1 && spec.gpu_milli < kMilli) {
    add("gpu_milli", spec.gpu_milli);
  } else {
    add("gpu_count", spec.gpu_count);
  }
  add("gpu_mem_mib", spec.gpu_mem_mib);
  if (!spec.sharing.empty()) {
    const auto name = [](std::string* out, SharingMode mode) {
      absl::StrAppend(out, std::string(SharingModeName(mode)));
    };
    parts.push_back(absl::StrCat("sharing=['", absl::StrJoin(spec.sharing, "', '", name), "']"));
  }
  if (spec.distinct_devices) parts.emplace_back("distinct_devices=True");
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
           py::arg("gpu_mem_mib") = 0, py::arg("models") = py::tuple(), py::arg("mig") = py::none(),
           py::arg("sharing") = py::tuple(), py::arg("distinct_devices") = false,
           R"(Describes a request.

cpu: CPU in cores (1.5 is fine), or cpu_milli: in thousandths of a core.
mem_mib: memory in MiB.
gpu: a share of one device below 1 (0.5), or a whole number of devices; rounded once to a
    thousandth. Or gpu_count with gpu_milli: that many thousandths of each device.
gpu_mem_mib: memory on each of the devices, in MiB; 0 claims none. Without gpu, gpu_count and
    gpu_milli: any device, or part of one, that has as much.
models: names of the GPU models that will do; empty: any.
mig: a MIG profile; gpu_count instances of it (1 if not said), on distinct_devices or not.
sharing: how a share, or memory, may be had: "fraction", "mps", "time_slicing", and for memory also
    "exclusive" and "mig"; empty: any of these, but a share is no MIG instance. Alone, with "mps" or
    "time_slicing": one replica.

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
      .def_property_readonly(
          "mig", [](const PyShape& s) { return TextOrNone(s.spec.mig_profile); },
          "The MIG profile of each of gpu_count instances, or None.")
      .def_property_readonly(
          "sharing", [](const PyShape& s) { return py::tuple(Pickled(s)[7]); },
          "How a share or memory may be had; empty: any way.")
      .def_property_readonly(
          "distinct_devices", [](const PyShape& s) { return s.spec.distinct_devices; },
          "Whether MIG instances must be on a device each.")
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
                         state[5], state[6], state[7], state[8]);
      }));
}

}  // namespace gpusched::bindings
