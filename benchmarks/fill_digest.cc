// Prints `policy seed digest` for the built-in workload under every policy. Equal output means
// equal placements: of two compilers, of two optimisation levels, of C++ and Python, of two
// versions.
//
//   fill_digest [PODS NODES]    (a smaller workload is quicker; default 8152 1213)
#include <cstdio>
#include <cstdlib>
#include <string>

#include "gpusched/policy/erased/registry.h"
#include "gpusched/sim/fill.h"
#include "gpusched/sim/generator.h"

int main(int argc, char** argv) {
  gpusched::GeneratorOptions options;
  if (argc == 3) {
    options.pods = std::atoll(argv[1]);
    options.nodes = std::atoll(argv[2]);
  } else if (argc != 1) {
    std::fprintf(stderr, "usage: fill_digest [PODS NODES]\n");
    return 2;
  }
  const auto workload = gpusched::GenerateWorkload(options);
  if (!workload.ok()) {
    std::fprintf(stderr, "%s\n", workload.status().ToString().c_str());
    return 2;
  }
  const auto registry = gpusched::ScoreRegistry::BuiltIn();
  for (const std::string& policy : registry.names()) {
    const std::uint64_t seed = 1;
    const auto result =
        gpusched::RunFill(*workload, policy, registry, {.seed = seed, .norms = {}, .progress = {}});
    if (!result.ok()) {
      std::fprintf(stderr, "%s\n", result.status().ToString().c_str());
      return 1;
    }
    std::printf("%s %llu %016llx\n", policy.c_str(), static_cast<unsigned long long>(seed),
                static_cast<unsigned long long>(result->placements_digest));
  }
  return 0;
}
