// Prints the links and all routes of a mesh, for tests/inputs/networks/test_mesh2d.py:
//   print_mesh WIDTH HEIGHT [NPUS | route SRC DEST]
#include <cstdlib>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "Helper.h"

using namespace NetworkAnalytical;

static_assert(noexcept(std::declval<const Mesh2D&>().route(0, 0)), "route overrides a noexcept function");
static_assert(std::is_base_of_v<BasicTopology, Mesh2D> && std::has_virtual_destructor_v<Mesh2D>);

namespace {

void print_route(const Topology& mesh, int src, int dest) {
    std::cout << "route";
    for (const auto& device : mesh.route(src, dest)) {
        std::cout << ' ' << device->id;
    }
    std::cout << '\n';
}

void print_mesh(const Mesh2D& mesh) {
    const int npus = mesh.npus_count;
    std::cout << "size " << mesh.width() << ' ' << mesh.height() << ' ' << mesh.device_count() << '\n';
    for (const auto& [ends, link] : mesh.links()) {
        std::cout << "link " << ends.first << ' ' << ends.second << ' ' << link.bandwidth << ' '
                  << link.latency << '\n';
    }
    for (int src = 0; src < npus; ++src) {
        for (int dest = 0; dest < npus; ++dest) {
            print_route(mesh, src, dest);
        }
    }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 3) {
        return 2;
    }
    const int width = std::atoi(argv[1]);
    const int height = std::atoi(argv[2]);
    try {
        const Mesh2D mesh(width, height, 50.5, 500);
        if (argc == 6) {
            print_route(mesh, std::atoi(argv[4]), std::atoi(argv[5]));
            return 0;
        }
        const int npus = argc == 4 ? std::atoi(argv[3]) : width * height;
        const auto made = construct_topology({TopologyKind::Mesh2D, npus, 50.5, 500, {width, height}});
        print_mesh(dynamic_cast<const Mesh2D&>(*made));
    } catch (const std::invalid_argument& error) {
        std::cerr << error.what() << '\n';
        return 1;
    }
    return 0;
}
