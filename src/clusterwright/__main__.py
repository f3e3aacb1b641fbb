"""`python -m clusterwright`: the command `wright`."""

from clusterwright.cli import main

if __name__ == "__main__":
    main()
