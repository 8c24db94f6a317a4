// A Python object that is kept by code which may run without the GIL.
#ifndef GPUSCHED_BINDINGS_REFERENCE_H_
#define GPUSCHED_BINDINGS_REFERENCE_H_

#include <pybind11/pybind11.h>

#include <memory>

namespace gpusched::bindings {

// Copies of it, and its end, need no GIL: the last owner may let go at the end of a long run
// without. To be made with the GIL.
inline std::shared_ptr<PyObject> KeepAlive(pybind11::handle object) {
  return {object.inc_ref().ptr(), [](PyObject* kept) {
            const pybind11::gil_scoped_acquire gil;
            Py_DECREF(kept);
          }};
}

}  // namespace gpusched::bindings

#endif  // GPUSCHED_BINDINGS_REFERENCE_H_
