#include "catalog.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "arguments.h"
#include "gpusched/spec/field_error.h"
#include "gpusched/spec/validate_model.h"
#include "node_spec.h"
#include "status.h"

namespace gpusched::bindings {
namespace {

// A number that fits the field; the rest of the rules is the library's.
std::int32_t Small(py::handle value, std::string_view where, std::string_view field,
                   std::int32_t least, std::int32_t most) {
  const std::string remedy = absl::StrCat("use ", least, " to ", most);
  const std::int64_t number = WholeNumber(value, where, field, remedy);
  if (number < least || number > most) Raise(InvalidField(where, field, Shown(value), remedy));
  return static_cast<std::int32_t>(number);
}

// The items of an iterable that is no text, each once seen.
template <class F>
void ForEach(py::handle value, std::string_view where, std::string_view field,
             std::string_view remedy, const F& visit) {
  if (py::isinstance<py::str>(value) || !py::isinstance<py::iterable>(value)) {
    Raise(InvalidField(where, field, Shown(value), remedy));
  }
  for (const py::handle item : py::iter(value)) visit(item);
}

template <class T>
std::vector<T> Objects(py::handle value, std::string_view where, std::string_view field,
                       std::string_view remedy) {
  std::vector<T> objects;
  ForEach(value, where, field, remedy, [&](py::handle item) {
    if (!py::isinstance<T>(item)) {
      Raise(InvalidField(where, absl::StrCat(std::string(field), "[", objects.size(), "]"),
                         Shown(item), remedy));
    }
    objects.push_back(item.cast<T>());
  });
  return objects;
}

py::tuple TextTuple(const std::vector<std::string>& texts) {
  py::tuple tuple(texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i) tuple[i] = py::str(texts[i]);
  return tuple;
}

py::tuple StartsTuple(SliceMask starts) {
  py::list list;
  for (int i = 0; i < kMaxMigSlices; ++i) {
    if (((starts >> i) & 1) != 0) list.append(i);
  }
  return py::tuple(list);
}

// --- models
// ---------------------------------------------------------------------------------------

GpuModel MakeModel(py::handle name, py::handle vendor, py::handle architecture,
                   py::handle compute_capability, py::handle memory_gib, py::handle fp64,
                   py::handle fp64_tensor, py::handle fp32, py::handle tf32, py::handle fp16,
                   py::handle bf16, py::handle fp8, py::handle int8, py::handle bandwidth_gbs,
                   py::handle tdp_w, py::handle nvlink_gbs, py::handle mig, py::handle unsourced) {
  GpuModel model;
  model.name = Text(name, "GPU model", "name");
  const std::string where = "GPU model " + Quoted(model.name);
  model.vendor = Text(vendor, where, "vendor");
  model.architecture = Text(architecture, where, "architecture");
  model.compute_capability = Text(compute_capability, where, "compute_capability");
  model.memory_gib = WholeNumber(memory_gib, where, "memory_gib", "use 0 to 1048576");
  const auto number = [&](py::handle value, const char* field) {
    return NumberIf(value, where, field, "use a whole number, or None if it is not known");
  };
  model.peak = {.fp64 = number(fp64, "fp64"),
                .fp64_tensor = number(fp64_tensor, "fp64_tensor"),
                .fp32 = number(fp32, "fp32"),
                .tf32 = number(tf32, "tf32"),
                .fp16 = number(fp16, "fp16"),
                .bf16 = number(bf16, "bf16"),
                .fp8 = number(fp8, "fp8"),
                .int8 = number(int8, "int8")};
  model.bandwidth_gbs = number(bandwidth_gbs, "bandwidth_gbs");
  model.tdp_w = number(tdp_w, "tdp_w");
  model.nvlink_gbs = number(nvlink_gbs, "nvlink_gbs");
  if (!mig.is_none()) model.mig = Text(mig, where, "mig");
  model.unsourced = Texts(unsourced, where, "unsourced");
  // Whether its geometry is known is for the catalogue that it joins.
  GpuModel alone = model;
  alone.mig.clear();
  RaiseIfError(Validate(alone, ModelCatalog()));
  return model;
}

std::string ModelText(const GpuModel& model) {
  std::string text = absl::StrCat("GpuModel(", NameText(model.name));
  if (model.memory_gib != 0) absl::StrAppend(&text, ", memory_gib=", model.memory_gib);
  if (!model.mig.empty()) absl::StrAppend(&text, ", mig=", NameText(model.mig));
  return text + ")";
}

using ReadNumber = const std::optional<std::int64_t>& (*)(const GpuModel&);

void BindModel(py::module_& module) {
  py::class_<GpuModel> type(module, "GpuModel", R"(What is known of a model of accelerators.

One device, as a scheduler sees it: a board with two GPUs is two. Immutable.

>>> import libgpusched as gs
>>> model = gs.Catalog().model("A100-SXM4-40GB")
>>> model.memory_gib, model.fp16, model.mig
(40, 312000, 'A100-40GB')
>>> gs.GpuModel("X1-48GB", vendor="Maker", memory_gib=48, fp16=120_000, tdp_w=350)
GpuModel('X1-48GB', memory_gib=48))");
  type.def(
      py::init(&MakeModel), py::arg("name"), py::kw_only(), py::arg("vendor") = "",
      py::arg("architecture") = "", py::arg("compute_capability") = "", py::arg("memory_gib") = 0,
      py::arg("fp64") = py::none(), py::arg("fp64_tensor") = py::none(),
      py::arg("fp32") = py::none(), py::arg("tf32") = py::none(), py::arg("fp16") = py::none(),
      py::arg("bf16") = py::none(), py::arg("fp8") = py::none(), py::arg("int8") = py::none(),
      py::arg("bandwidth_gbs") = py::none(), py::arg("tdp_w") = py::none(),
      py::arg("nvlink_gbs") = py::none(), py::arg("mig") = py::none(),
      py::arg("unsourced") = py::tuple(), R"(Describes a model; numbers are whole, None: not known.

memory_gib: the maker's nominal size.
fp64, fp64_tensor, fp32, tf32, fp16, bf16, fp8, int8: peak dense rates in GFLOPS, int8 in GOPS.
bandwidth_gbs: of its memory, in GB/s.
tdp_w: the power that it is designed for, in W.
nvlink_gbs: to other devices, both ways, in GB/s; 0: none.
mig: the name of its MIG geometry; None: it can't be partitioned.
unsourced: names of those fields that no public source was found for.)");
  type.def_readonly("name", &GpuModel::name, "What devices and shapes call it.")
      .def_readonly("vendor", &GpuModel::vendor, "Its maker.")
      .def_readonly("architecture", &GpuModel::architecture, R"(Such as "Hopper".)")
      .def_readonly("compute_capability", &GpuModel::compute_capability,
                    "What compilers call what it can do.")
      .def_readonly("memory_gib", &GpuModel::memory_gib, "The maker's nominal size.");
  const auto number = [&](const char* name, ReadNumber read, const char* doc) {
    type.def_property_readonly(
        name, [read](const GpuModel& m) { return IntOrNone(read(m)); }, doc);
  };
  number(
      "fp64", [](const GpuModel& m) -> auto& { return m.peak.fp64; }, "GFLOPS, or None.");
  number(
      "fp64_tensor", [](const GpuModel& m) -> auto& { return m.peak.fp64_tensor; },
      "Of the matrix units, in GFLOPS, or None.");
  number(
      "fp32", [](const GpuModel& m) -> auto& { return m.peak.fp32; }, "GFLOPS, or None.");
  number(
      "tf32", [](const GpuModel& m) -> auto& { return m.peak.tf32; }, "GFLOPS, or None.");
  number(
      "fp16", [](const GpuModel& m) -> auto& { return m.peak.fp16; }, "GFLOPS, or None.");
  number(
      "bf16", [](const GpuModel& m) -> auto& { return m.peak.bf16; }, "GFLOPS, or None.");
  number(
      "fp8", [](const GpuModel& m) -> auto& { return m.peak.fp8; }, "GFLOPS, or None.");
  number(
      "int8", [](const GpuModel& m) -> auto& { return m.peak.int8; }, "GOPS, or None.");
  number(
      "bandwidth_gbs", [](const GpuModel& m) -> auto& { return m.bandwidth_gbs; },
      "Of its memory, in GB/s, or None.");
  number(
      "tdp_w", [](const GpuModel& m) -> auto& { return m.tdp_w; },
      "The power that it is designed for, in W, or None.");
  number(
      "nvlink_gbs", [](const GpuModel& m) -> auto& { return m.nvlink_gbs; },
      "To other devices, both ways, in GB/s; 0: none; None: not known.");
  type.def_property_readonly(
          "mig", [](const GpuModel& m) { return TextOrNone(m.mig); },
          "The name of its MIG geometry, or None.")
      .def_property_readonly(
          "unsourced", [](const GpuModel& m) { return TextTuple(m.unsourced); },
          "Fields that no public source was found for.")
      .def("__eq__", &IsEqual<GpuModel>)
      .def("__hash__", [](const GpuModel& m) { return py::hash(py::str(m.name)); })
      .def("__repr__", &ModelText);
}

// --- MIG geometries
// -------------------------------------------------------------------------------

MigProfile MakeProfile(py::handle name, py::handle compute_slices, py::handle memory_slices,
                       py::handle starts, py::handle mem_mib, py::handle media_extensions) {
  MigProfile profile;
  profile.name = Text(name, "MIG profile", "name");
  const std::string where = "MIG profile " + Quoted(profile.name);
  profile.compute_slices = Small(compute_slices, where, "compute_slices", 1, kMaxMigComputeSlices);
  profile.memory_slices = Small(memory_slices, where, "memory_slices", 1, kMaxMigSlices);
  ForEach(starts, where, "starts", "use a list of memory slices", [&](py::handle item) {
    const std::string field = absl::StrCat("starts[", profile.starts.size(), "]");
    profile.starts.push_back(Small(item, where, field, 0, kMaxMigSlices - 1));
  });
  profile.mem_mib = WholeNumber(mem_mib, where, "mem_mib");
  profile.media_extensions = Flag(media_extensions, where, "media_extensions");
  return profile;
}

std::string ProfileText(const MigProfile& profile) {
  std::string text = absl::StrCat("MigProfile(", NameText(profile.name),
                                  ", compute_slices=", profile.compute_slices,
                                  ", memory_slices=", profile.memory_slices, ", starts=[");
  for (std::size_t i = 0; i < profile.starts.size(); ++i) {
    absl::StrAppend(&text, i == 0 ? "" : ", ", profile.starts[i]);
  }
  absl::StrAppend(&text, "], mem_mib=", profile.mem_mib);
  if (profile.media_extensions) absl::StrAppend(&text, ", media_extensions=True");
  return text + ")";
}

void BindProfile(py::module_& module) {
  py::class_<MigProfile>(module, "MigProfile", R"(One kind of MIG instance. Immutable.

>>> import libgpusched as gs
>>> profile = gs.mig_geometry("A100-40GB").profiles[3]
>>> profile.name, profile.compute_slices, profile.memory_slices, profile.starts
('2g.10gb', 2, 2, (0, 2, 4)))")
      .def(py::init(&MakeProfile), py::arg("name"), py::kw_only(), py::arg("compute_slices"),
           py::arg("memory_slices"), py::arg("starts"), py::arg("mem_mib") = 0,
           py::arg("media_extensions") = false, R"(Describes a kind of instance.

compute_slices, memory_slices: what an instance takes of the device.
starts: legal first memory slices, ascending, at least memory_slices apart.
mem_mib: what a task in it can use.
media_extensions: it comes with the media engines, which a device gives to one instance only.

Whether it goes with the others is checked by MigGeometry.)")
      .def_readonly("name", &MigProfile::name, R"(Such as "3g.20gb".)")
      .def_readonly("compute_slices", &MigProfile::compute_slices, "Of the device's.")
      .def_readonly("memory_slices", &MigProfile::memory_slices, "Of the device's.")
      .def_readonly("mem_mib", &MigProfile::mem_mib, "What a task in it can use.")
      .def_property_readonly(
          "starts",
          [](const MigProfile& p) {
            py::tuple starts(p.starts.size());
            for (std::size_t i = 0; i < p.starts.size(); ++i) starts[i] = py::int_(p.starts[i]);
            return starts;
          },
          "Legal first memory slices.")
      .def_readonly("media_extensions", &MigProfile::media_extensions,
                    "Whether it comes with the media engines.")
      .def("__eq__", &IsEqual<MigProfile>)
      .def("__hash__", [](const MigProfile& p) { return py::hash(py::str(p.name)); })
      .def("__repr__", &ProfileText);
}

PyMigGeometry MakeGeometry(py::handle name, py::handle profiles, py::handle compute_slices,
                           py::handle memory_slices, py::handle unsourced) {
  MigGeometrySpec spec;
  spec.name = Text(name, "MIG geometry", "name");
  const std::string where = "MIG geometry " + Quoted(spec.name);
  spec.profiles = Objects<MigProfile>(profiles, where, "profiles", "use a list of MigProfile");
  spec.compute_slices = Small(compute_slices, where, "compute_slices", 1, kMaxMigComputeSlices);
  spec.memory_slices = Small(memory_slices, where, "memory_slices", 1, kMaxMigSlices);
  spec.unsourced = Texts(unsourced, where, "unsourced");
  RaiseIfError(Validate(spec));
  return {std::make_shared<const MigGeometry>(std::move(spec))};
}

SliceMask OccupiedOf(const PyMigGeometry& self, py::handle occupied) {
  const MigGeometrySpec& spec = self.geometry->spec();
  unsigned mask = 0;
  const std::string where = "MIG geometry " + Quoted(spec.name);
  ForEach(occupied, where, "occupied", "use a list of memory slices", [&](py::handle item) {
    mask |= 1U << Small(item, where, "occupied", 0, spec.memory_slices - 1);
  });
  return static_cast<SliceMask>(mask);
}

std::size_t ProfileOf(const PyMigGeometry& self, py::handle name) {
  const MigGeometrySpec& spec = self.geometry->spec();
  const std::string where = "MIG geometry " + Quoted(spec.name);
  const std::string wanted = Text(name, where, "profile");
  if (const auto index = self.geometry->FindProfile(wanted)) return *index;
  std::string known;
  for (const MigProfile& profile : spec.profiles) {
    absl::StrAppend(&known, known.empty() ? "" : ", ", profile.name);
  }
  Raise(FieldError(absl::StatusCode::kNotFound, where, "profile", Shown(name),
                   absl::StrCat("it has ", known)));
}

void BindGeometry(py::module_& module) {
  py::class_<PyMigGeometry>(module, "MigGeometry",
                            R"(Which MIG instances a device can have, and where.

An instance takes memory slices from its start on; instances never overlap, and at most one with
media extensions is on a device. Immutable.

>>> import libgpusched as gs
>>> geometry = gs.mig_geometry("A100-SXM4-40GB")
>>> geometry.name, geometry.compute_slices, geometry.memory_slices
('A100-40GB', 7, 8)
>>> geometry.free_starts("2g.10gb", [0, 1, 5])
(2,)
>>> geometry.free_starts("3g.20gb", [0, 1, 5])
())")
      .def(py::init(&MakeGeometry), py::arg("name"), py::kw_only(), py::arg("profiles"),
           py::arg("compute_slices") = MigGeometrySpec().compute_slices,
           py::arg("memory_slices") = MigGeometrySpec().memory_slices,
           py::arg("unsourced") = py::tuple(), R"(Describes a geometry.

profiles: MigProfile, up to 16.
compute_slices, memory_slices: of the whole device; up to 64, and up to 8.
unsourced: parts that are inferred rather than published: "mem_mib", "starts".

Raises InvalidSpec, also if instances side by side could take more compute slices than there are.)")
      .def_property_readonly(
          "name", [](const PyMigGeometry& g) { return g.geometry->spec().name; },
          "What models call it.")
      .def_property_readonly(
          "compute_slices",
          [](const PyMigGeometry& g) { return g.geometry->spec().compute_slices; },
          "Of the whole device.")
      .def_property_readonly(
          "memory_slices", [](const PyMigGeometry& g) { return g.geometry->spec().memory_slices; },
          "Of the whole device.")
      .def_property_readonly(
          "profiles",
          [](const PyMigGeometry& g) {
            const std::vector<MigProfile>& profiles = g.geometry->spec().profiles;
            py::tuple tuple(profiles.size());
            for (std::size_t i = 0; i < profiles.size(); ++i) tuple[i] = py::cast(profiles[i]);
            return tuple;
          },
          "The kinds of instances, MigProfile.")
      .def_property_readonly(
          "unsourced",
          [](const PyMigGeometry& g) { return TextTuple(g.geometry->spec().unsourced); },
          "Parts that are inferred rather than published.")
      .def(
          "free_starts",
          [](const PyMigGeometry& self, const py::object& profile, const py::object& occupied) {
            const std::size_t index = ProfileOf(self, profile);
            return StartsTuple(self.geometry->FreeStarts(index, OccupiedOf(self, occupied)));
          },
          py::arg("profile"), py::arg("occupied") = py::tuple(),
          R"(The starts at which the profile overlaps none of the occupied memory slices.

As many instances of it fit at once. Whether another one has the media engines is not asked.
Raises NotFound (profile).)")
      .def(
          "value",
          [](const PyMigGeometry& self, const py::object& occupied) {
            return self.geometry->Value(OccupiedOf(self, occupied));
          },
          py::arg("occupied") = py::tuple(),
          R"(How much the free memory slices are good for; the more, the better.

The number of free starts of each profile without media extensions, the largest profile as the
leading digit: slices that still take a larger profile always have the higher value.

>>> import libgpusched as gs
>>> geometry = gs.mig_geometry("A100-40GB")
>>> max(geometry.free_starts("3g.20gb"), key=lambda i: geometry.value(range(i, i + 4)))
4)")
      .def("__eq__",
           [](const PyMigGeometry& self, const py::object& other) -> py::object {
             if (!py::isinstance<PyMigGeometry>(other)) {
               return py::reinterpret_borrow<py::object>(Py_NotImplemented);
             }
             return py::bool_(self.geometry->spec() ==
                              other.cast<const PyMigGeometry&>().geometry->spec());
           })
      .def("__hash__",
           [](const PyMigGeometry& self) { return py::hash(py::str(self.geometry->spec().name)); })
      .def("__repr__", [](const PyMigGeometry& self) {
        const MigGeometrySpec& spec = self.geometry->spec();
        return absl::StrCat("<MigGeometry ", NameText(spec.name), ", ", spec.profiles.size(),
                            " profiles on ", spec.memory_slices, " memory slices>");
      });
}

// --- the catalogue
// --------------------------------------------------------------------------------

ModelCatalog MakeCatalog(py::handle models, py::handle geometries, py::handle opaque_models) {
  const ModelCatalog opaque = CatalogOf(opaque_models, "catalog");
  ModelCatalog catalog;
  for (const PyMigGeometry& item :
       Objects<PyMigGeometry>(geometries, "catalog", "geometries", "use a list of MigGeometry")) {
    RaiseIfError(AddMigGeometry(catalog, item.geometry->spec()));
  }
  for (GpuModel& model : Objects<GpuModel>(models, "catalog", "models", "use a list of GpuModel")) {
    RaiseIfError(AddModel(catalog, std::move(model)));
  }
  // Last, so that a name that is known is none of them.
  for (const std::string& name : opaque.opaque()) catalog.DeclareOpaque(name);
  return catalog;
}

// Built-in ones in their order, each as it is in this catalogue; then what was added beyond them.
py::tuple AllModels(const ModelCatalog& catalog) {
  py::list models;
  for (const GpuModel& model : ModelCatalog::BuiltIn()) models.append(*catalog.Find(model.name));
  const ModelCatalog built_in;
  for (const GpuModel& model : catalog.models()) {
    if (built_in.Find(model.name) == nullptr) models.append(model);
  }
  return py::tuple(models);
}

py::tuple AllGeometries(const ModelCatalog& catalog) {
  py::list geometries;
  for (const MigGeometry& geometry : ModelCatalog::BuiltInMig()) {
    geometries.append(PyMigGeometry{catalog.FindMig(geometry.spec().name)});
  }
  const ModelCatalog built_in;
  for (const auto& geometry : catalog.geometries()) {
    if (built_in.FindMig(geometry->spec().name) == nullptr) {
      geometries.append(PyMigGeometry{geometry});
    }
  }
  return py::tuple(geometries);
}

const GpuModel& FindModel(const ModelCatalog& catalog, py::handle name) {
  const std::string wanted = Text(name, "catalog", "model");
  if (const GpuModel* const model = catalog.Find(wanted)) return *model;
  Raise(FieldError(absl::StatusCode::kNotFound, "catalog", "model", Shown(name),
                   catalog.Knows(wanted)
                       ? std::string("it is opaque: nothing is known of it but its name")
                       : absl::StrCat("did you mean '", catalog.Nearest(wanted), "'?")));
}

PyMigGeometry FindGeometry(const ModelCatalog& catalog, py::handle name) {
  const std::string wanted = Text(name, "catalog", "MIG geometry");
  if (auto geometry = catalog.FindMig(wanted)) return {std::move(geometry)};
  if (auto geometry = catalog.MigOf(wanted)) return {std::move(geometry)};
  std::string remedy = "no MIG geometry is known for this model";
  if (!catalog.Knows(wanted)) {
    remedy = absl::StrCat("name a model, such as '", catalog.Nearest(wanted), "', or one of");
    for (const auto& geometry : AllGeometries(catalog)) {
      absl::StrAppend(&remedy, " ", geometry.cast<const PyMigGeometry&>().geometry->spec().name);
    }
  }
  Raise(FieldError(absl::StatusCode::kNotFound, "catalog", "MIG geometry", Shown(name), remedy));
}

void BindModelCatalog(py::module_& module) {
  py::class_<ModelCatalog>(
      module, "Catalog",
      R"(The GPU models that a cluster or engine knows: the built-in ones, and more.

What is added comes before a built-in one of the same name. Immutable.

>>> import libgpusched as gs
>>> catalog = gs.Catalog(models=[gs.GpuModel("X1-48GB", memory_gib=48, mig="A30-24GB")])
>>> "X1-48GB" in catalog, "T4" in catalog, "X2" in catalog
(True, True, False)
>>> catalog.mig_geometry("X1-48GB").name
'A30-24GB'
>>> cluster = gs.Cluster(catalog=catalog)
>>> cluster.add_node("n1", cpu=64, mem_mib=262144, gpus=4, model="X1-48GB"))")
      .def(py::init(&MakeCatalog), py::kw_only(), py::arg("models") = py::tuple(),
           py::arg("geometries") = py::tuple(), py::arg("opaque_models") = py::tuple(),
           R"(The built-in models, and these.

models: GpuModel; their mig names one of geometries, or a built-in one.
geometries: MigGeometry.
opaque_models: names that are compared for equality and nothing else.

One of a name that stands twice replaces the former. Raises InvalidSpec.)")
      .def("model", &FindModel, py::arg("name"), "A model by its name. Raises NotFound.")
      .def("mig_geometry", &FindGeometry, py::arg("name"),
           "A MIG geometry by its own name or that of a model. Raises NotFound.")
      .def("all_models", &AllModels, "All models, GpuModel; the built-in ones first.")
      .def("all_geometries", &AllGeometries, "All geometries, MigGeometry; built-in ones first.")
      .def_property_readonly(
          "models",
          [](const ModelCatalog& self) {
            py::list models;
            for (const GpuModel& model : self.models()) models.append(model);
            return py::tuple(models);
          },
          "The models that were added, in order.")
      .def_property_readonly(
          "geometries",
          [](const ModelCatalog& self) {
            py::list geometries;
            for (const auto& geometry : self.geometries()) {
              geometries.append(PyMigGeometry{geometry});
            }
            return py::tuple(geometries);
          },
          "The MIG geometries that were added, in order.")
      .def_property_readonly(
          "opaque_models", [](const ModelCatalog& self) { return TextTuple(self.opaque()); },
          "The names that were declared opaque, in order.")
      .def("__contains__",
           [](const ModelCatalog& self, const py::object& name) {
             return py::isinstance<py::str>(name) && self.Knows(Text(name, "catalog", "model"));
           })
      .def("__repr__", [](const ModelCatalog& self) {
        return absl::StrCat("<Catalog of the built-in models, ", self.models().size(), " more, ",
                            self.geometries().size(), " MIG geometries, ", self.opaque().size(),
                            " opaque>");
      });
}

}  // namespace

ModelCatalog CatalogOf(py::handle catalog, py::handle opaque_models, std::string_view where) {
  ModelCatalog opaque = CatalogOf(opaque_models, where);
  if (catalog.is_none()) return opaque;
  if (!py::isinstance<ModelCatalog>(catalog)) {
    Raise(InvalidField(where, "catalog", Shown(catalog), "use a Catalog (see read_catalog)"));
  }
  auto both = catalog.cast<ModelCatalog>();
  for (const std::string& name : opaque.opaque()) both.DeclareOpaque(name);
  return both;
}

void BindCatalog(py::module_& module) {
  BindModel(module);
  BindProfile(module);
  BindGeometry(module);
  BindModelCatalog(module);

  module.def(
      "gpu_models", [] { return AllModels(ModelCatalog()); },
      R"(The GPU models that come with the library, ordered by age.

>>> import libgpusched as gs
>>> [model.name for model in gs.gpu_models() if model.memory_gib > 180]
['GB200', 'MI300X'])");
  module.def(
      "mig_geometries", [] { return AllGeometries(ModelCatalog()); },
      R"(The MIG geometries that come with the library.

>>> import libgpusched as gs
>>> [geometry.name for geometry in gs.mig_geometries() if geometry.memory_slices < 8]
['A30-24GB', 'RTX-PRO-6000-96GB'])");
  module.def(
      "mig_geometry", [](const py::object& name) { return FindGeometry(ModelCatalog(), name); },
      py::arg("name"),
      R"(A built-in MIG geometry by its own name or that of a model. Raises NotFound.

>>> import libgpusched as gs
>>> gs.mig_geometry("A30")
<MigGeometry 'A30-24GB', 5 profiles on 4 memory slices>)");
}

}  // namespace gpusched::bindings
