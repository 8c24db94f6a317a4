// GpuModel, MigProfile, MigGeometry and Catalog: what Python sees of the catalogue, and adds to it.
#ifndef GPUSCHED_BINDINGS_CATALOG_H_
#define GPUSCHED_BINDINGS_CATALOG_H_

#include <pybind11/pybind11.h>

#include <memory>
#include <string_view>

#include "gpusched/spec/gpu_model.h"
#include "gpusched/spec/mig_geometry.h"

namespace gpusched::bindings {

namespace py = pybind11;

// Built-in geometries and those of a catalogue are the same object to Python.
struct PyMigGeometry {
  std::shared_ptr<const MigGeometry> geometry;
};

// What a cluster or engine may name: a Catalog, or None for the built-in one, and opaque names.
ModelCatalog CatalogOf(py::handle catalog, py::handle opaque_models, std::string_view where);

void BindCatalog(py::module_& module);

}  // namespace gpusched::bindings

#endif  // GPUSCHED_BINDINGS_CATALOG_H_
