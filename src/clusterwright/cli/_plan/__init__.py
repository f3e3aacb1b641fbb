"""The commands of `wright plan`: one short file each, named after it; a file that starts with _ is none."""
