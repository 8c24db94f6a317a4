// The Python module libgpusched._core: conversions only, no logic of its own.
#include <pybind11/pybind11.h>

#include "engine.h"
#include "policy.h"
#include "sim.h"
#include "spec.h"
#include "state.h"

PYBIND11_MODULE(_core, module) {
  module.doc() = "The library behind libgpusched. Import libgpusched instead.";
  module.attr("__version__") = GPUSCHED_VERSION;
  gpusched::bindings::BindSpec(module);
  gpusched::bindings::BindState(module);
  gpusched::bindings::BindPolicy(module);
  gpusched::bindings::BindEngine(module);
  gpusched::bindings::BindSim(module);
}
