"""Clusters and profiles from files: Metis's formats, and generators of its synthetic inputs."""

from dse.planner.problem.inputs.hostfile import read_cluster as read_cluster
from dse.planner.problem.inputs.profile_files import read_profiles as read_profiles
