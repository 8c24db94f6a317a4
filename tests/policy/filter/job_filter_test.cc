#include "gpusched/policy/filter/job_filter.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "cluster_fixture.h"
#include "job_specs.h"

namespace gpusched {
namespace {

const Label kWeb = {.key = "app", .value = "web"};
const Label kDb = {.key = "app", .value = "db"};

class JobFilterTest : public testing::Test {
 protected:
  JobFilterTest() {
    a = cluster.AddNode(GpuNode("a", 2));
    b = cluster.AddNode(GpuNode("b", 2));
  }

  JobId Add(const JobSpec& spec) {
    Transaction transaction(cluster.state);
    const JobId job = transaction.AddJob(spec, 0).value_or(JobId());
    transaction.Commit();
    return job;
  }

  // A task of that job on that node.
  void Put(JobId job, std::uint32_t group, NodeId node) {
    Transaction transaction(cluster.state);
    const ShapeId shape = cluster.state.jobs()[job.slot].groups[group].shape;
    const std::string name = "t" + std::to_string(cluster.state.tasks().size());
    EXPECT_TRUE(transaction.Place(name, shape, {node, {}}, {job, group, 0}).ok());
    transaction.Commit();
  }

  Shortfall Ask(const JobFilter& filter, NodeId node) {
    return filter(cluster.node(node), Shape());
  }
  Reason Ask(JobId job, NodeId node, std::uint32_t group = 0) {
    return Ask(JobFilter(cluster.state, job, group), node).verdict.reason;
  }

  static JobSpec Labelled(std::string name, const Label& label) {
    JobSpec job = Gang(std::move(name), 4, CpuTask(1));
    job.labels = {label};
    return job;
  }

  TestCluster cluster;
  NodeId a, b;
};

TEST_F(JobFilterTest, LetsEverythingPassByDefault) {
  EXPECT_TRUE(Ask(JobFilter(), a).verdict.ok());
  EXPECT_FALSE(JobFilter().asks());
  const JobFilter plain(cluster.state, Add(Gang("j", 1, CpuTask(1))), 0);
  EXPECT_TRUE(Ask(plain, a).verdict.ok());
  EXPECT_FALSE(plain.asks());
}

TEST_F(JobFilterTest, LeavesNodesOut) {
  JobFilter filter(cluster.state, Add(Gang("j", 1, CpuTask(1))), 0);
  const std::array<std::uint32_t, 1> out = {a.slot};
  filter.Exclude(out);
  EXPECT_EQ(Ask(filter, a).verdict.outcome, Outcome::kWait);
  EXPECT_TRUE(Ask(filter, b).verdict.ok());
}

TEST_F(JobFilterTest, CountsTheTasksOfTheGroupOnTheNode) {
  JobSpec spec = Job("j", {Group("x", 4, CpuTask(1)), Group("y", 4, CpuTask(1))});
  spec.groups[0].max_tasks_per_node = 2;
  const JobId job = Add(spec);
  const JobId other = Add(Gang("other", 4, CpuTask(1)));
  Put(job, 0, a);
  Put(job, 1, a);
  Put(other, 0, a);
  EXPECT_TRUE(JobFilter(cluster.state, job, 0).asks());
  EXPECT_EQ(Ask(job, a), Reason::kNone) << "one of the group is there; the rest does not count";
  Put(job, 0, a);
  const Shortfall full = Ask(JobFilter(cluster.state, job, 0), a);
  EXPECT_EQ(full.verdict, Verdict::Wait(Reason::kTooManyTasksOnNode));
  EXPECT_EQ(full.need, 3);
  EXPECT_EQ(full.have, 2);
  EXPECT_EQ(Ask(job, b), Reason::kNone);
  EXPECT_EQ(Ask(job, a, 1), Reason::kNone) << "the limit is of the other group";
}

TEST_F(JobFilterTest, AffinityAsksForATaskWithTheLabel) {
  JobSpec wants = Gang("j", 1, CpuTask(1));
  wants.affinity = {kWeb};
  const JobId job = Add(wants);
  EXPECT_EQ(Ask(job, a), Reason::kAffinity) << "there is none";
  Put(Add(Labelled("web", kWeb)), 0, a);
  EXPECT_EQ(Ask(job, a), Reason::kNone);
  EXPECT_EQ(Ask(job, b), Reason::kAffinity);
}

TEST_F(JobFilterTest, EachOfSeveralLabelsMustBeThere) {
  JobSpec wants = Gang("j", 1, CpuTask(1));
  wants.affinity = {kWeb, kDb};
  const JobId job = Add(wants);
  Put(Add(Labelled("web", kWeb)), 0, a);
  EXPECT_EQ(Ask(job, a), Reason::kAffinity);
  Put(Add(Labelled("db", kDb)), 0, a);
  EXPECT_EQ(Ask(job, a), Reason::kNone);
}

TEST_F(JobFilterTest, TheFirstOfItsKindMayGoAnywhere) {
  JobSpec spec = Labelled("j", kWeb);
  spec.affinity = {kWeb};
  const JobId job = Add(spec);
  EXPECT_EQ(Ask(job, a), Reason::kNone);
  EXPECT_EQ(Ask(job, b), Reason::kNone);
  Put(job, 0, b);
  EXPECT_EQ(Ask(job, a), Reason::kAffinity) << "now there is company";
  EXPECT_EQ(Ask(job, b), Reason::kNone);
}

TEST_F(JobFilterTest, ATaskOnANodeToComeIsCompanyToo) {
  JobSpec spec = Labelled("j", kWeb);
  spec.affinity = {kWeb};
  const JobId job = Add(spec);
  const JobId other = Add(Labelled("web", kWeb));
  Transaction transaction(cluster.state);
  ASSERT_TRUE(
      transaction.SetParked(other, {{.group = 0, .index = 0, .node = "c", .devices = {}}}).ok());
  EXPECT_EQ(Ask(job, a), Reason::kAffinity);
}

TEST_F(JobFilterTest, AntiAffinityKeepsItAway) {
  JobSpec minds = Gang("j", 1, CpuTask(1));
  minds.anti_affinity = {kDb};
  const JobId job = Add(minds);
  Put(Add(Labelled("db", kDb)), 0, a);
  EXPECT_EQ(Ask(job, a), Reason::kAntiAffinity);
  EXPECT_EQ(Ask(job, b), Reason::kNone);
}

TEST_F(JobFilterTest, AntiAffinityKeepsOthersAway) {
  JobSpec minds = Gang("j", 1, CpuTask(1));
  minds.anti_affinity = {kDb};
  Put(Add(minds), 0, a);
  const JobId db = Add(Labelled("db", kDb));
  EXPECT_TRUE(JobFilter(cluster.state, db, 0).asks()) << "it has no wish, but somebody minds";
  EXPECT_EQ(Ask(db, a), Reason::kAntiAffinity);
  EXPECT_EQ(Ask(db, b), Reason::kNone);
  EXPECT_EQ(Ask(Add(Labelled("web", kWeb)), a), Reason::kNone);
}

TEST_F(JobFilterTest, AntiAffinityToItsOwnLabelSpreadsAJob) {
  JobSpec spec = Labelled("j", kWeb);
  spec.anti_affinity = {kWeb};
  const JobId job = Add(spec);
  EXPECT_EQ(Ask(job, a), Reason::kNone);
  Put(job, 0, a);
  EXPECT_EQ(Ask(job, a), Reason::kAntiAffinity);
  EXPECT_EQ(Ask(job, b), Reason::kNone);
}

TEST_F(JobFilterTest, TasksWithoutAJobAreNobodysCompany) {
  JobSpec minds = Labelled("j", kWeb);
  minds.anti_affinity = {kDb};
  minds.affinity = {kWeb};
  const JobId job = Add(minds);
  cluster.Place("somebody", CpuTask(1), a);
  EXPECT_EQ(Ask(job, a), Reason::kNone);
}

}  // namespace
}  // namespace gpusched
