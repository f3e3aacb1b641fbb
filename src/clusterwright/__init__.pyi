from clusterwright import catalog as catalog
from clusterwright import check as check
from clusterwright import diagnose as diagnose
from clusterwright import launch as launch
from clusterwright import monitor as monitor
from clusterwright import plan as plan
from clusterwright.config.cluster import Cluster as Cluster
from clusterwright.config.job import Job as Job
from clusterwright.config.load import load_cluster as load_cluster
from clusterwright.config.load import load_job as load_job
from clusterwright.config.load import validate as validate
from clusterwright.errors import Finding as Finding
from clusterwright.errors import SpecError as SpecError
from clusterwright.errors import WrightError as WrightError

__version__: str
