// Links per node of a problem of synthesis.
#include "collectives/problem/problem.hpp"

namespace dse::synthesis {

LinksPerNode links_by(std::uint32_t nodes, const std::vector<Link>& links, std::uint32_t Link::* node) {
    LinksPerNode found;
    found.begin.assign(nodes + 1, 0);
    for (const Link& link : links) ++found.begin[link.*node + 1];
    for (std::uint32_t n = 0; n < nodes; ++n) found.begin[n + 1] += found.begin[n];
    found.links.resize(links.size());
    std::vector<std::uint32_t> next(found.begin.begin(), found.begin.end() - 1);
    for (std::uint32_t i = 0; i < links.size(); ++i) found.links[next[links[i].*node]++] = i;
    return found;
}

void Problem::index_links() {
    into = links_by(nodes, links, &Link::to);
    out_of = links_by(nodes, links, &Link::from);
}

}  // namespace dse::synthesis
