#include "journal.h"

#include <pybind11/stl.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "arguments.h"
#include "gpusched/journal/file_journal.h"
#include "gpusched/journal/record.h"
#include "gpusched/journal/text.h"
#include "gpusched/spec/field_error.h"
#include "policy.h"
#include "status.h"

namespace gpusched::bindings {
namespace {

struct PyRecord {
  std::string kind;
  std::uint64_t at = 0;
  std::string text;
};

// The records of a journal; what is wrong with its end comes last, so that nobody overlooks it.
std::vector<PyRecord> ReadJournal(const py::object& path) {
  const std::string bytes = ValueOrRaise(ReadFile(Path(path, "journal", "path")));
  const Recovered recovered = ValueOrRaise(Recover(bytes));
  std::vector<PyRecord> records;
  records.reserve(recovered.records.size() + 1);
  for (const Record& record : recovered.records) {
    records.push_back({.kind = std::string(RecordKindName(record.kind)),
                       .at = record.at,
                       .text = RecordText(record)});
  }
  if (!recovered.problem.empty()) {
    records.push_back({.kind = "problem", .at = recovered.valid_bytes, .text = recovered.problem});
  }
  return records;
}

// What is not simply cut is evidence: of damage, of another policy if plans are verified, or of a
// fault. Going on would remove it, and the whole records behind it.
void RequireAnEndToGoOnFrom(const std::string& path, const RestoreReport& report) {
  if (report.end == JournalEnd::kWhole || report.end == JournalEnd::kCut) return;
  Raise(absl::FailedPreconditionError(absl::StrCat(
      "journal ", Quoted(path), ": ", report.problem,
      "; to go on from there would remove whole records, so restore with resume=False and begin a "
      "new journal with set_journal, or cut the file to ",
      report.valid_bytes, " bytes yourself",
      report.end == JournalEnd::kDoesNotApply
          ? ", or restore without verify if the policy is another one"
          : "")));
}

}  // namespace

PyRestored RestoreEngine(py::handle path, py::handle policy, bool verify, bool resume,
                         bool durable) {
  const std::string file = Path(path, "journal", "path");
  const py::object chosen = PolicyOf(policy);
  if (durable && !resume) {
    Raise(InvalidField("restore", "durable", "True", "nothing is appended without resume"));
  }
  // Locked before it is read: what another writer appends in between would be removed.
  std::unique_ptr<FileJournal> journal;
  std::string bytes;
  if (resume) {
    FileJournal::Opened opened = ValueOrRaise(FileJournal::Open(file, DurabilityOf(durable)));
    journal = std::move(opened.journal);
    bytes = std::move(opened.bytes);
  } else {
    bytes = ValueOrRaise(ReadFile(file));
  }
  EnginePolicies policies = PoliciesOf(chosen);
  Restored restored = ValueOrRaise([&] {
    const py::gil_scoped_release unlocked;
    return Restore(bytes, std::move(policies), verify ? ReplayMode::kVerify : ReplayMode::kApply);
  }());
  PyRestored answer{.engine = std::make_shared<PyEngine>(std::move(restored.engine), chosen),
                    .report = std::move(restored.report)};
  if (resume) {
    RequireAnEndToGoOnFrom(file, answer.report);
    RaiseIfError(journal->KeepFirst(answer.report.valid_bytes));
    answer.engine->SetJournal(std::move(journal), restored.writer);
  }
  return answer;
}

void SetJournal(PyEngine& engine, py::handle path, bool durable) {
  engine.engine();  // raises while it decides, and then no file is made
  if (!path.is_none()) {
    const std::string file = Path(path, "set_journal", "path");
    engine.SetJournal(ValueOrRaise(FileJournal::Create(file, DurabilityOf(durable))));
    return;
  }
  if (durable) {
    Raise(InvalidField("set_journal", "durable", "True", "it is about a journal; name its file"));
  }
  engine.SetJournal(nullptr);
}

void BindJournal(py::module_& module) {
  py::class_<PyRestored>(module, "Restored", "An engine from a journal, and how far that carried.")
      .def_readonly("engine", &PyRestored::engine, "The engine.")
      .def_property_readonly(
          "records", [](const PyRestored& r) { return r.report.records; },
          "How many records were applied.")
      .def_property_readonly(
          "plans", [](const PyRestored& r) { return r.report.plans; },
          "How many committed plans are among them.")
      .def_property_readonly(
          "valid_bytes", [](const PyRestored& r) { return r.report.valid_bytes; },
          "How many bytes these records take.")
      .def_property_readonly(
          "total_bytes", [](const PyRestored& r) { return r.report.total_bytes; },
          "How many bytes there were.")
      .def_property_readonly(
          "problem", [](const PyRestored& r) { return TextOrNone(r.report.problem); },
          "Why the rest was left out, with the record and the byte; None if nothing was.")
      .def("__repr__", [](const PyRestored& r) {
        return absl::StrCat("<Restored from ", r.report.records, " records",
                            r.report.problem.empty() ? "" : absl::StrCat("; ", r.report.problem),
                            ">");
      });

  py::class_<PyRecord>(module, "JournalRecord", "One record of a journal.")
      .def_readonly("kind", &PyRecord::kind,
                    R"("snapshot", "event", "commit" or "abort"; or "problem": what is )"
                    "wrong with the rest of the file, of which nothing can be read.")
      .def_readonly("at", &PyRecord::at, "The byte at which it begins.")
      .def_readonly("text", &PyRecord::text, "One line for people.")
      .def("__repr__", [](const PyRecord& r) {
        return absl::StrCat("<JournalRecord at ", r.at, ", ", r.text, ">");
      });

  module.def("read_journal", &ReadJournal, py::arg("path"), R"(The records of a journal, a list.

Whoever else has it open. If the end is cut or damaged, the last entry is of kind "problem". Raises
NotFound, Unavailable, or InvalidSpec if this is no journal, or one of another version.

>>> import libgpusched as gs, tempfile
>>> with tempfile.TemporaryDirectory() as folder:
...     engine = gs.Engine(journal=f"{folder}/journal")
...     _ = engine.tick(now=60_000_000)
...     for record in gs.read_journal(f"{folder}/journal"):
...         print(record.text)
snapshot: ... bytes
event: tick to 60000000 us)");
}

}  // namespace gpusched::bindings
