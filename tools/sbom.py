"""The bill of materials of the package (CycloneDX): the packages that it requires, and those of each extra."""

from __future__ import annotations

import json
import re
import uuid
from datetime import UTC, datetime
from typing import Any

from cyclonedx.model import Property
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentScope, ComponentType
from cyclonedx.model.license import DisjunctiveLicense
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL

_REQUIREMENT = re.compile(r"([A-Za-z0-9._-]+)(?:\[[^\]]*\])?\s*(.*)")


def bill_of_materials(project: dict[str, Any], version: str, timestamp: int) -> str:
    """Return the document for the section `project` of pyproject.toml; equal input gives equal bytes."""
    bom = Bom(serial_number=uuid.UUID(int=0))
    bom.metadata.timestamp = datetime.fromtimestamp(timestamp, UTC)
    name = project["name"]
    root = Component(
        name=name,
        version=version,
        type=ComponentType.APPLICATION,
        bom_ref=name,
        purl=PackageURL("pypi", name=name, version=version),
        licenses=[DisjunctiveLicense(id=project["license"])],
    )
    bom.metadata.component = root
    required = [_component(requirement, "") for requirement in project["dependencies"]]
    optional: dict[str, Component] = {}
    for extra, requirements in sorted(project["optional-dependencies"].items()):
        for component in (_component(requirement, extra) for requirement in requirements):
            optional.setdefault(component.name, component)
    known = {component.name for component in required} | {name}
    bom.components = [*required, *(component for key, component in optional.items() if key not in known)]
    bom.register_dependency(root, required)
    document = json.loads(JsonV1Dot6(bom).output_as_string())
    document["metadata"].pop("tools", None)
    text = json.dumps(document, sort_keys=True)
    document["serialNumber"] = f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, text)}"
    return json.dumps(document, indent=2, sort_keys=True) + "\n"


def _component(requirement: str, extra: str) -> Component:
    match = _REQUIREMENT.fullmatch(requirement)
    if match is None:
        raise ValueError(f"cannot parse the requirement {requirement}")
    name, versions = re.sub(r"[-_.]+", "-", match[1]).lower(), match[2]
    properties = [Property(name="clusterwright:versions", value=versions)] if versions else []
    properties += [Property(name="clusterwright:extra", value=extra)] if extra else []
    return Component(
        name=name,
        type=ComponentType.LIBRARY,
        bom_ref=name,
        purl=PackageURL("pypi", name=name),
        scope=ComponentScope.OPTIONAL if extra else ComponentScope.REQUIRED,
        properties=properties,
    )
