#include "sim.h"

#include <pybind11/stl.h>

#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "arguments.h"
#include "gpusched/sim/fill.h"
#include "gpusched/sim/generator.h"
#include "gpusched/sim/openb.h"
#include "gpusched/spec/field_error.h"
#include "policy.h"
#include "search_path.h"
#include "spec.h"
#include "status.h"

namespace gpusched::bindings {
namespace {

// Shared with nobody who could change it, so a simulation may read it without the GIL.
struct PyWorkload {
  std::shared_ptr<const Workload> workload;
};

std::string Hex(std::uint64_t digest) { return absl::StrFormat("%016x", digest); }

std::vector<ShapeSpec> Requests(const Workload& workload) {
  std::vector<ShapeSpec> requests;
  for (const Pod& pod : workload.pods) requests.push_back(pod.shape);
  return requests;
}

std::int64_t Devices(const Workload& workload) {
  std::int64_t devices = 0;
  for (const NodeSpec& node : workload.nodes) {
    devices += static_cast<std::int64_t>(node.devices.size());
  }
  return devices;
}

// Runs one experiment without the GIL. Progress takes it back for a moment, which is also when
// Ctrl-C is noticed.
FillResult Fill(const PyWorkload& workload, const py::object& policy, const py::object& seed,
                const py::object& to, const py::object& cpu_norm_milli,
                const py::object& gpu_norm_milli, bool keep_placements, const py::object& path,
                const py::object& progress) {
  FillOptions options{.seed = Seed(seed, "fill", "seed"),
                      .to = RealNumber(to, "fill", "to"),
                      .norms = {.cpu_milli = WholeNumber(cpu_norm_milli, "fill", "cpu_norm_milli"),
                                .gpu_milli = WholeNumber(gpu_norm_milli, "fill", "gpu_norm_milli")},
                      .keep_placements = keep_placements,
                      .search = {.path = PathNamed(path, "fill")},
                      .progress = {}};
  if (!progress.is_none() && PyCallable_Check(progress.ptr()) == 0) {
    Raise(InvalidField("fill", "progress", Shown(progress), "use a function of (done, total)"));
  }
  std::exception_ptr raised;
  options.progress = [&](std::int64_t done, std::int64_t total) {
    const py::gil_scoped_acquire gil;
    try {
      if (PyErr_CheckSignals() != 0) throw py::error_already_set();
      return progress.is_none() || !progress(done, total).equal(py::bool_(false));
    } catch (...) {
      raised = std::current_exception();
      return false;
    }
  };
  ScoreRegistry registry = ScoreRegistry::BuiltIn();
  std::string name;
  if (py::isinstance<py::str>(policy)) {
    name = Text(policy, "fill", "policy");
  } else if (py::isinstance<PyPolicy>(policy)) {
    name = PolicyText(policy);
    RaiseIfError(registry.Register(
        name, [&](const ScoreParameters&, ClusterState& state) -> absl::StatusOr<AnyScore> {
          const py::gil_scoped_acquire gil;
          return BuildPolicy(policy, state);
        }));
  } else {
    Raise(InvalidField("fill", "policy", Shown(policy), "use a Policy, or the name of one"));
  }
  absl::StatusOr<FillResult> result;
  {
    const py::gil_scoped_release unlocked;
    result = RunFill(*workload.workload, name, registry, options);
  }
  // Also if it was the very last call, whose answer nobody waits for.
  if (raised) std::rethrow_exception(raised);
  return ValueOrRaise(std::move(result));
}

py::dict Failed(const FillResult& result) {
  py::dict failed;
  for (std::size_t i = 0; i < kReasons; ++i) {
    if (result.failed[i] == 0) continue;
    failed[py::str(std::string(ReasonName(static_cast<Reason>(i))))] = result.failed[i];
  }
  return failed;
}

void BindWorkload(py::module_& module) {
  py::class_<PyWorkload>(module, "Workload", R"(A cluster and the tasks that arrive at it.

>>> import libgpusched as gs
>>> workload = gs.Workload.builtin(pods=100, nodes=10)
>>> workload.pod_count, workload.node_count
(100, 10))")
      .def_static(
          "builtin",
          [](const py::object& pods, const py::object& nodes, const py::object& seed) {
            const GeneratorOptions options{
                .pods = WholeNumber(pods, "generator", "pods", "use 1 to 8000000"),
                .nodes = WholeNumber(nodes, "generator", "nodes", "use 1 to 1000000"),
                .seed = Seed(seed, "generator", "seed")};
            return PyWorkload{
                std::make_shared<const Workload>(ValueOrRaise(GenerateWorkload(options)))};
          },
          py::kw_only(), py::arg("pods") = GeneratorOptions().pods,
          py::arg("nodes") = GeneratorOptions().nodes, py::arg("seed") = GeneratorOptions().seed,
          R"(A production-like cluster and task mix without any file.

Kinds of nodes and tasks have the proportions that Weng et al. publish ("Beware of Fragmentation",
USENIX ATC 2023); sizes are drawn by seed.)")
      .def_static(
          "read_openb",
          [](const py::object& nodes_csv, const py::object& pods_csv) {
            const py::object fspath = py::module_::import("os").attr("fspath");
            const std::string nodes = Text(fspath(nodes_csv), "workload", "nodes_csv");
            const std::string pods = Text(fspath(pods_csv), "workload", "pods_csv");
            return PyWorkload{
                std::make_shared<const Workload>(ValueOrRaise(ReadOpenb(nodes, pods)))};
          },
          py::arg("nodes_csv"), py::arg("pods_csv"),
          R"(Reads the format of Alibaba's GPU cluster trace of 2023 (openb).

Nodes: columns sn, cpu_milli, memory_mib, gpu, model. Pods: name, cpu_milli, memory_mib, num_gpu,
gpu_milli, and optionally gpu_spec (allowed models joined by a bar). Further columns are ignored.

Raises NotFound for a file that cannot be read, InvalidSpec or AlreadyExists with file and line.)")
      .def_property_readonly(
          "nodes_source", [](const PyWorkload& w) { return w.workload->nodes_source; },
          "The file of the nodes, or how they were made.")
      .def_property_readonly(
          "pods_source", [](const PyWorkload& w) { return w.workload->pods_source; },
          "The file of the pods, or how they were made.")
      .def_property_readonly(
          "node_count", [](const PyWorkload& w) { return w.workload->nodes.size(); },
          "How many nodes it has.")
      .def_property_readonly(
          "pod_count", [](const PyWorkload& w) { return w.workload->pods.size(); },
          "How many pods it has.")
      .def_property_readonly(
          "gpu_count", [](const PyWorkload& w) { return Devices(*w.workload); },
          "How many GPUs its nodes have.")
      .def(
          "pods",
          [](const PyWorkload& w) {
            py::list pods;
            for (const Pod& pod : w.workload->pods) {
              pods.append(py::make_tuple(pod.name, ShapeOf(pod.shape)));
            }
            return pods;
          },
          "The pods as pairs of name and Shape.")
      .def(
          "nodes",
          [](const PyWorkload& w) {
            py::list nodes;
            for (const NodeSpec& node : w.workload->nodes) {
              nodes.append(py::make_tuple(node.name, node.cpu_milli, node.mem_mib,
                                          py::tuple(py::cast(node.devices))));
            }
            return nodes;
          },
          "The nodes as tuples of name, cpu_milli, mem_mib and devices.")
      .def(
          "target",
          [](const PyWorkload& w) {
            return PyTarget{TargetWorkload::FromRequests(Requests(*w.workload))};
          },
          "The pods' own distribution, for Fgd.")
      .def("__repr__", [](const PyWorkload& w) {
        return absl::StrCat("Workload(", w.workload->nodes.size(), " nodes, ", Devices(*w.workload),
                            " GPUs, ", w.workload->pods.size(), " pods)");
      });
}

}  // namespace

void BindSim(py::module_& module) {
  BindWorkload(module);

  py::class_<FillPlacement>(module, "FillPlacement", "One arrival and what became of it.")
      .def_readonly("sequence", &FillPlacement::sequence,
                    "Position in the order of arrival, from 0.")
      .def_readonly("pod", &FillPlacement::pod, "Its name; a clone's is `<pod>#<k>`.")
      .def_property_readonly(
          "shape", [](const FillPlacement& p) { return ShapeOf(p.shape); }, "What it asked.")
      .def_property_readonly(
          "node",
          [](const FillPlacement& p) -> py::object {
            return p.node.empty() ? py::none() : py::object(py::str(p.node));
          },
          "Where it was placed; None: it was dropped.")
      .def_property_readonly(
          "devices", [](const FillPlacement& p) { return DevicesTuple(p.devices); },
          "Indices of the devices on it.");

  py::class_<LatencyNs>(module, "LatencyNs",
                        "Nanoseconds of deciding and committing, over all arrivals.")
      .def_readonly("p50", &LatencyNs::p50)
      .def_readonly("p99", &LatencyNs::p99)
      .def_readonly("max", &LatencyNs::max);

  py::class_<FillResult>(module, "FillResult", "What one run of the fill experiment found.")
      .def_readonly("policy", &FillResult::policy, "The policy.")
      .def_readonly("seed", &FillResult::seed, "The seed of the orders of pods and nodes.")
      .def_readonly("arrived_pct", &FillResult::arrived_pct,
                    "GPUs requested so far, % of capacity, at which the next two are taken.")
      .def_readonly("allocated_pct", &FillResult::allocated_pct, "GPUs allocated, % of capacity.")
      .def_readonly("fragmentation_pct", &FillResult::fragmentation_pct,
                    "Idle GPUs of no use to the workload, % of idle.")
      .def_readonly("placed", &FillResult::placed, "How many pods found a place.")
      .def_property_readonly("failed", &Failed, "How many did not, by dominant reason.")
      .def_readonly("decisions", &FillResult::decisions, "How many pods arrived.")
      .def_readonly("seconds", &FillResult::seconds, "Time of all decisions and commits.")
      .def_readonly("latency_ns", &FillResult::latency, "Time of one decision and commit.")
      .def_property_readonly(
          "path", [](const FillResult& r) { return PathDict(r.paths); },
          "How many decisions were computed in which way.")
      .def_property_readonly(
          "placements_digest", [](const FillResult& r) { return Hex(r.placements_digest); },
          "16 hex digits for the sequence of placements; equal digests mean equal placements.")
      .def_property_readonly(
          "state_hash", [](const FillResult& r) { return Hex(r.state_hash); },
          "16 hex digits for the cluster at the end.")
      .def_readonly("placements", &FillResult::placements,
                    "Every arrival, if asked for. Each look makes a new list.")
      .def(
          "forget_placements",
          [](FillResult& r) { std::vector<FillPlacement>().swap(r.placements); },
          "Frees the memory of the placements.")
      .def("__repr__", [](const FillResult& r) {
        return absl::StrCat("FillResult('", r.policy, "', seed=", r.seed, ", placed=", r.placed,
                            " of ", r.decisions, ")");
      });

  module.def("run_fill", &Fill, py::arg("workload"), py::arg("policy"), py::kw_only(),
             py::arg("seed") = 1, py::arg("to") = 1.3,
             py::arg("cpu_norm_milli") = ScoreNorms().cpu_milli,
             py::arg("gpu_norm_milli") = ScoreNorms().gpu_milli, py::arg("keep_placements") = false,
             py::arg("path") = "auto", py::arg("progress") = py::none(),
             R"(One run of the fill experiment: pods arrive until the cluster is over-full.

The protocol of Weng et al. (USENIX ATC 2023, section 6.2): pods arrive in random order, clones of
them follow until the requested GPUs reach `to` times the capacity; none leaves, and one that does
not fit is dropped. Equal arguments give equal placements everywhere.

policy: the name of a built-in one, or a Policy. By name, "fgd" measures against the pods' own
    distribution, and "random" draws by seed.
seed: of the orders of pods and nodes. to: 0.01 to 100.
path: how places are looked for: "scan" (every node, each time), "index", "columns", or "auto".
    Placements are the same.
progress: called now and then with (arrivals decided, arrivals in all); it may raise, or return
    False to stop, which raises Cancelled. Other threads run meanwhile.

Raises NotFound (policy), InvalidSpec, PreconditionFailed (pods that ask GPUs of nodes without any).

>>> import libgpusched as gs
>>> result = gs.run_fill(gs.Workload.builtin(pods=100, nodes=10), "best_fit")
>>> result.decisions == result.placed + sum(result.failed.values())
True)");
}

}  // namespace gpusched::bindings
