"""Kubernetes objects without a cluster: kustomize as far as tools/deploy uses it, and strict checks of the objects.

build(folder) is the list of objects of a kustomization; faults(objects) is the list of their faults, each a sentence. The
types below have only the fields that tools/deploy uses or is likely to use, so an unknown field is a fault even if
Kubernetes knows it: then add it. The field names and the rules are those of the Kubernetes API, v1.29 to v1.34.
"""
import copy
import re

import yaml

# Per type its fields: NAME[!]:TYPE. "!" is required. A TYPE is a word of SIMPLE, a type of this table, a list [TYPE], a map
# {TYPE}, words A|B, or the one word =A.
TYPES = {
    "Meta": "name!:name namespace:name labels:{label} annotations:{str}",
    "Selector": "matchLabels!:{label}",
    "Namespace": "apiVersion!:v1 kind!:=Namespace metadata!:Meta",
    "ConfigMap": "apiVersion!:v1 kind!:=ConfigMap metadata!:Meta data:{str}",
    "Service": "apiVersion!:v1 kind!:=Service metadata!:Meta spec!:ServiceSpec",
    "ServiceSpec": "selector!:{label} ports!:[ServicePort] clusterIP:str type:ClusterIP|NodePort|LoadBalancer",
    "ServicePort": "name!:name port!:port targetPort:port_or_name protocol:TCP|UDP",
    "Deployment": "apiVersion!:apps/v1 kind!:=Deployment metadata!:Meta spec!:DeploymentSpec",
    "DeploymentSpec": "replicas:int selector!:Selector template!:Template strategy:Strategy",
    "Strategy": "type!:Recreate|RollingUpdate",
    "DaemonSet": "apiVersion!:apps/v1 kind!:=DaemonSet metadata!:Meta spec!:DaemonSetSpec",
    "DaemonSetSpec": "selector!:Selector template!:Template",
    "StatefulSet": "apiVersion!:apps/v1 kind!:=StatefulSet metadata!:Meta spec!:StatefulSetSpec",
    "StatefulSetSpec": "serviceName!:name replicas:int selector!:Selector template!:Template volumeClaimTemplates:[Claim]",
    "Claim": "metadata!:Meta spec!:ClaimSpec",
    "ClaimSpec": "accessModes!:[ReadWriteOnce|ReadWriteMany|ReadOnlyMany|ReadWriteOncePod] resources!:Resources "
                 "storageClassName:name",
    "Template": "metadata!:PodMeta spec!:PodSpec",
    "PodMeta": "labels!:{label} annotations:{str}",
    "PodSpec": "containers!:[Container] initContainers:[Container] volumes:[Volume] securityContext:PodSecurity "
               "automountServiceAccountToken:bool serviceAccountName:name nodeSelector:{label} hostNetwork:bool hostPID:bool "
               "hostUsers:bool dnsPolicy:ClusterFirst|ClusterFirstWithHostNet|Default|None priorityClassName:name "
               "terminationGracePeriodSeconds:int shareProcessNamespace:bool",
    "PodSecurity": "runAsNonRoot:bool runAsUser:id runAsGroup:id fsGroup:id supplementalGroups:[id] "
                   "seccompProfile:Profile appArmorProfile:Profile",
    "Profile": "type!:RuntimeDefault|Unconfined|Localhost localhostProfile:str",
    "Container": "name!:name image!:image imagePullPolicy:Always|IfNotPresent|Never command:[str] args:[str] env:[Variable] "
                 "ports:[ContainerPort] securityContext!:Security resources:Resources volumeMounts:[VolumeMount] "
                 "startupProbe:Probe livenessProbe:Probe readinessProbe:Probe restartPolicy:Always workingDir:path",
    "Variable": "name!:variable value:str valueFrom:ValueFrom",
    "ValueFrom": "configMapKeyRef:KeyRef secretKeyRef:KeyRef",
    "KeyRef": "name!:name key!:str optional:bool",
    "ContainerPort": "name!:name containerPort!:port protocol:TCP|UDP",
    "Security": "privileged:bool allowPrivilegeEscalation:bool runAsNonRoot:bool runAsUser:id runAsGroup:id "
                "readOnlyRootFilesystem:bool capabilities:Capabilities seccompProfile:Profile appArmorProfile:Profile "
                "procMount:Default|Unmasked",
    "Capabilities": "drop!:[capability] add:[capability]",
    "Resources": "limits:{quantity} requests:{quantity}",
    "VolumeMount": "name!:name mountPath!:path readOnly:bool subPath:relative "
                   "mountPropagation:None|HostToContainer|Bidirectional",
    "Probe": "exec:Exec tcpSocket:Socket httpGet:Get initialDelaySeconds:int periodSeconds:int timeoutSeconds:int "
             "failureThreshold:int successThreshold:int",
    "Exec": "command!:[str]",
    "Socket": "port!:port_or_name host:str",
    "Get": "path!:path port!:port_or_name",
    "Volume": "name!:name emptyDir:EmptyDir hostPath:HostPath configMap:ConfigMapVolume secret:SecretVolume",
    "EmptyDir": "medium:Memory sizeLimit:quantity",
    "HostPath": "path!:path type!:Directory|DirectoryOrCreate|File|FileOrCreate|Socket|CharDevice",
    "ConfigMapVolume": "name!:name items:[Item] defaultMode:int",
    "SecretVolume": "secretName!:name items:[Item] defaultMode:int",
    "Item": "key!:str path!:relative",
    # kustomize's own files
    "Kustomization": "apiVersion!:kustomize.config.k8s.io/v1beta1 kind!:=Kustomization namespace:name resources!:[str] "
                     "components:[str] configMapGenerator:[Generator]",
    "Component": "apiVersion!:kustomize.config.k8s.io/v1alpha1 kind!:=Component patches!:[Patch]",
    "Generator": "name!:name files:[str] literals:[str]",
    "Patch": "path!:str target!:Target",
    "Target": "kind!:str labelSelector!:str",
}
LABEL = r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?"


def matches(pattern):
    return lambda value: isinstance(value, str) and re.fullmatch(pattern, value) is not None


def number(low, high):
    return lambda value: isinstance(value, int) and not isinstance(value, bool) and low <= value <= high


SIMPLE = {
    "str": lambda value: isinstance(value, str),
    "bool": lambda value: isinstance(value, bool),
    "int": number(0, 2**31 - 1),
    "id": number(0, 2**31 - 1),
    "port": number(1, 65535),
    "name": matches(r"[a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?"),
    "label": matches(LABEL),
    "variable": matches(r"[A-Za-z_][A-Za-z0-9_]*"),
    "image": matches(r"[a-z0-9][-a-z0-9_.]*(:[-A-Za-z0-9_.]+)?"),  # without a registry: an overlay names it
    "path": matches(r"/[^:]*"),
    "relative": lambda value: isinstance(value, str) and not value.startswith("/") and ".." not in value.split("/"),
    "capability": matches(r"ALL|(?!CAP_)[A-Z_]+"),
    "quantity": matches(r"[0-9]+(\.[0-9]+)?(m|k|Ki|M|Mi|G|Gi|T|Ti)?"),
    "port_or_name": lambda value: SIMPLE["port"](value) or matches(r"[a-z0-9]([-a-z0-9]{0,13}[a-z0-9])?")(value),
}


def wrong_types(value, kind, where):
    """The faults of a value that should have this type."""
    if kind in TYPES:
        return wrong_fields(value, kind, where)
    if kind.startswith("["):
        if not isinstance(value, list) or not value:
            return [f"{where}: {value!r} is not a list with an element"]
        return [fault for i, v in enumerate(value) for fault in wrong_types(v, kind[1:-1], f"{where}[{i}]")]
    if kind.startswith("{"):
        if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
            return [f"{where}: {value!r} is not a map"]
        return [fault for key, v in value.items() for fault in wrong_types(v, kind[1:-1], f"{where}.{key}")]
    right = SIMPLE[kind](value) if kind in SIMPLE else value in kind.removeprefix("=").split("|")
    return [] if right else [f"{where}: {value!r} is not {kind}"]


def wrong_fields(value, kind, where):
    if not isinstance(value, dict):
        return [f"{where}: {value!r} is not an object of type {kind}"]
    fields = dict(field.split(":", 1) for field in TYPES[kind].split())
    known = {name.rstrip("!"): type_ for name, type_ in fields.items()}
    faults = [f"{where}: {kind} has no field {key}" for key in value if key not in known]
    faults += [f"{where}: {kind} needs the field {name[:-1]}" for name in fields
               if name.endswith("!") and name[:-1] not in value]
    return faults + [fault for key, v in value.items() if key in known
                     for fault in wrong_types(v, known[key], f"{where}.{key}")]


# ---- objects that refer to each other ----

def repeated(names):
    return sorted({name for name in names if names.count(name) > 1})


def all_containers(pod):
    return [*pod.get("initContainers", []), *pod.get("containers", [])]


def pods(objects):
    """(name, object, pod) of each object that makes pods."""
    return [(f"{o['kind']} {o['metadata']['name']}", o, o["spec"]["template"]["spec"]) for o in objects
            if "template" in o.get("spec", {})]


def wrong_probe(container, probe, where):
    ways = [way for way in ("exec", "tcpSocket", "httpGet") if way in probe]
    port = (probe.get("tcpSocket") or probe.get("httpGet") or {}).get("port")
    if len(ways) != 1:
        yield f"{where}: has the actions {ways}, expected one"
    if isinstance(port, str) and port not in [p["name"] for p in container.get("ports", [])]:
        yield f"{where}: the container has no port {port}"
    if probe.get("timeoutSeconds", 1) < 1 or probe.get("periodSeconds", 10) < 1 or probe.get("failureThreshold", 3) < 1:
        yield f"{where}: times and thresholds are at least 1"


def wrong_security(container, where):
    security = container["securityContext"]
    added = security.get("capabilities", {}).get("add", [])
    strong = security.get("privileged") or "SYS_ADMIN" in added
    if strong and security.get("allowPrivilegeEscalation") is False:
        yield f"{where}: allowPrivilegeEscalation cannot be false beside privileged or SYS_ADMIN"
    if not strong and "allowPrivilegeEscalation" in security and security["allowPrivilegeEscalation"]:
        yield f"{where}: allowPrivilegeEscalation is true"
    if security.get("runAsNonRoot") and security.get("runAsUser") == 0:
        yield f"{where}: runAsNonRoot with runAsUser 0"
    for mount in container.get("volumeMounts", []):
        if mount.get("mountPropagation") == "Bidirectional" and not security.get("privileged"):
            yield f"{where}: only a privileged container may have Bidirectional mounts"


def wrong_container(container, initial, volumes, maps, where):
    mounts = container.get("volumeMounts", [])
    for name in {mount["name"] for mount in mounts} - volumes:
        yield f"{where}: mounts {name}, which is no volume of the pod"
    for path in repeated([mount["mountPath"] for mount in mounts]):
        yield f"{where}: has two mounts at {path}"
    if "restartPolicy" in container and not initial:
        yield f"{where}: restartPolicy is for init containers only"
    for name in ("startupProbe", "livenessProbe", "readinessProbe"):
        if name in container:
            yield from wrong_probe(container, container[name], f"{where}.{name}")
            if initial and "restartPolicy" not in container:
                yield f"{where}: {name} needs restartPolicy: Always in an init container"
    defined = []
    for variable in container.get("env", []):
        defined.append(variable["name"])
        ref = variable.get("valueFrom", {}).get("configMapKeyRef")
        if ("value" in variable) == ("valueFrom" in variable):
            yield f"{where}: {variable['name']} needs either value or valueFrom"
        if ref and ref["key"] not in maps.get(ref["name"], {}):
            yield f"{where}: there is no key {ref['key']} in a config map {ref['name']}"
    words = [*container.get("command", []), *container.get("args", [])]
    used = set(re.findall(r"\$\((\w+)\)", " ".join(words)))
    for name in used ^ set(defined):
        yield f"{where}: the variable {name} is " + ("not defined" if name in used else "not used")
    yield from wrong_security(container, where)


def wrong_pod(name, owner, pod, maps):
    claims = [claim["metadata"]["name"] for claim in owner["spec"].get("volumeClaimTemplates", [])]
    names = [volume["name"] for volume in pod.get("volumes", [])] + claims
    for volume in repeated(names):
        yield f"{name}: two volumes are called {volume}"
    mounted = {mount["name"] for container in all_containers(pod) for mount in container.get("volumeMounts", [])}
    for volume in set(names) - mounted:
        yield f"{name}: no container mounts the volume {volume}"
    for volume in pod.get("volumes", []):
        if len(volume) != 2:
            yield f"{name}: the volume {volume['name']} needs exactly one source"
        if "configMap" in volume and volume["configMap"]["name"] not in maps:
            yield f"{name}: there is no config map {volume['configMap']['name']}"
        if "secret" in volume:
            yield f"{name}: there is no secret {volume['secret']['secretName']}"
    if pod.get("serviceAccountName", "default") != "default":
        yield f"{name}: there is no service account {pod['serviceAccountName']}"
    for container in repeated([container["name"] for container in all_containers(pod)]):
        yield f"{name}: two containers are called {container}"
    for container in all_containers(pod):
        yield from wrong_container(container, container in pod.get("initContainers", []), set(names), maps,
                                   f"{name}, {container['name']}")
    labels = owner["spec"]["template"]["metadata"]["labels"]
    if not owner["spec"]["selector"]["matchLabels"].items() <= labels.items():
        yield f"{name}: its selector does not select its own pods"


def wrong_service(service, objects):
    name, spec = service["metadata"]["name"], service["spec"]
    chosen = [pod for _, owner, pod in pods(objects)
              if spec["selector"].items() <= owner["spec"]["template"]["metadata"]["labels"].items()]
    ports = {port["name"] for pod in chosen for container in all_containers(pod) for port in container.get("ports", [])}
    if len(chosen) != 1:
        yield f"Service {name}: selects {len(chosen)} kinds of pods, expected one"
    for port in spec["ports"]:
        if isinstance(port.get("targetPort"), str) and port["targetPort"] not in ports:
            yield f"Service {name}: no container has a port {port['targetPort']}"


def faults(objects):
    found = []
    for o in objects:
        kind = o.get("kind")
        where = f"{kind} {o.get('metadata', {}).get('name')}"
        found += wrong_fields(o, kind, where) if kind in TYPES else [f"{where}: the checks do not know this kind"]
    if found:  # the other checks rely on the types
        return found
    maps = {o["metadata"]["name"]: o.get("data", {}) for o in objects if o["kind"] == "ConfigMap"}
    namespaces = {o["metadata"]["name"] for o in objects if o["kind"] == "Namespace"}
    services = {o["metadata"]["name"] for o in objects if o["kind"] == "Service"}
    for o in objects:
        if o["metadata"].get("namespace", "default") not in namespaces | {"default"}:
            found.append(f"{o['kind']} {o['metadata']['name']}: there is no namespace {o['metadata']['namespace']}")
        if o["kind"] == "StatefulSet" and o["spec"]["serviceName"] not in services:
            found.append(f"StatefulSet {o['metadata']['name']}: there is no service {o['spec']['serviceName']}")
        if o["kind"] == "Service":
            found += wrong_service(o, objects)
    for name, owner, pod in pods(objects):
        found += wrong_pod(name, owner, pod, maps)
    return found


# ---- kustomize ----

class Strict(yaml.SafeLoader):
    """A loader that refuses a key that stands twice in a map."""

    def construct_mapping(self, node, deep=False):
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        if twice := repeated(keys):
            raise yaml.constructor.ConstructorError(None, None, f"the key {twice[0]} stands twice", node.start_mark)
        return super().construct_mapping(node, deep)


def load(path):
    with open(path, encoding="utf-8") as f:
        return [document for document in yaml.load_all(f, Strict) if document is not None]


def merge(base, patch):
    """A strategic merge: maps by key, lists of named elements by name, mounts by path; the rest of the patch wins."""
    if isinstance(base, dict) and isinstance(patch, dict):
        return {key: merge(base[key], patch[key]) if key in base and key in patch else copy.deepcopy({**base, **patch}[key])
                for key in [*base, *(key for key in patch if key not in base)]}
    if isinstance(base, list) and isinstance(patch, list):
        for key in ("mountPath", "name"):
            if all(isinstance(element, dict) and key in element for element in [*base, *patch]):
                old, new = ({element[key]: element for element in elements} for elements in (base, patch))
                return list(merge(old, new).values())
    return copy.deepcopy(patch)


def patched(objects, folder, patch):
    """The objects, to which the patch is applied where its target says."""
    target = patch["target"]
    label, _, value = target["labelSelector"].partition("=")
    change = load(folder / patch["path"])[0]
    chosen = [o for o in objects
              if o["kind"] == target["kind"] and o["metadata"].get("labels", {}).get(label) == value]
    if not chosen:
        raise ValueError(f"{folder / patch['path']}: its target selects no object")
    return [merge(o, {**change, "metadata": {}}) if o in chosen else o for o in objects]


def generated(folder, generator):
    data = dict(literal.split("=", 1) for literal in generator.get("literals", []))
    data.update({name: (folder / name).read_text(encoding="utf-8") for name in generator.get("files", [])})
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": generator["name"]}, "data": data}


def kustomization(folder, kind):
    document, = load(folder / "kustomization.yaml")
    if wrong := wrong_fields(document, kind, str(folder / "kustomization.yaml")):
        raise ValueError("\n".join(wrong))
    return document


def build(folder):
    """The objects of a kustomization, as kubectl kustomize makes them, without the hashes in the names of config maps."""
    document = kustomization(folder, "Kustomization")
    objects = []
    for resource in document["resources"]:
        objects += build(folder / resource) if (folder / resource).is_dir() else load(folder / resource)
    objects += [generated(folder, generator) for generator in document.get("configMapGenerator", [])]
    for name in document.get("components", []):
        for patch in kustomization(folder / name, "Component")["patches"]:
            objects = patched(objects, folder / name, patch)
    for o in objects:
        if "namespace" in document and o["kind"] != "Namespace":
            o["metadata"]["namespace"] = document["namespace"]
    return objects
