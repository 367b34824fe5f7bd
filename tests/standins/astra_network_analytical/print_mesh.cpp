// Prints the links and all routes of a mesh, for tests/test_mesh2d.py: print_mesh WIDTH HEIGHT
#include <cstdlib>
#include <exception>
#include <iostream>
#include <stdexcept>

#include "Mesh2D.h"

using NetworkAnalytical::Mesh2D;
using NetworkAnalytical::Topology;

namespace {

void print_routes(const Topology& mesh, int npus) {
    for (int src = 0; src < npus; ++src) {
        for (int dest = 0; dest < npus; ++dest) {
            std::cout << "route";
            for (const auto& device : mesh.route(src, dest)) {
                std::cout << ' ' << device->id;
            }
            std::cout << '\n';
        }
    }
}

void print_refusal(const Topology& mesh, int src, int dest) {
    try {
        (void)mesh.route(src, dest);
    } catch (const std::out_of_range& error) {
        std::cout << "refused " << error.what() << '\n';
    }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) {
        return 2;
    }
    const int width = std::atoi(argv[1]);
    const int height = std::atoi(argv[2]);
    try {
        const Mesh2D mesh(width, height, 50.5, 500);
        std::cout << "size " << mesh.width() << ' ' << mesh.height() << ' ' << mesh.device_count() << '\n';
        for (const auto& [ends, link] : mesh.links()) {
            std::cout << "link " << ends.first << ' ' << ends.second << ' ' << link.bandwidth << ' '
                      << link.latency << '\n';
        }
        print_routes(mesh, width * height);
        print_refusal(mesh, -1, 0);
        print_refusal(mesh, 0, width * height);
    } catch (const std::invalid_argument& error) {
        std::cerr << error.what() << '\n';
        return 1;
    }
    return 0;
}
