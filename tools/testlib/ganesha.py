"""NFS-Ganesha, from the packages that tools/deps unpacked, and its configuration from exports(5) words."""
from .parts import DIR, Unpacked, tcp_answers

DEFAULT_EXPORT = "rw,no_root_squash,insecure"
FILESYSTEMS = ("ext4", "xfs", "btrfs", "overlay", "dir")
NFS_PORT = 2049
MOUNT_PORT = 20048
CONFIG = DIR / "ganesha.conf"

TEMPLATE = """\
NFS_CORE_PARAM {{
  NFS_Port = {port}; MNT_Port = {mount_port}; NLM_Port = 0; Rquota_Port = 20049;
  Protocols = 3, 4; Enable_NLM = false; Enable_RQUOTA = false; Enable_UDP = false;
  Plugins_Dir = "{plugins}"; mount_path_pseudo = false; {flusher}
}}
NFSv4 {{
  Grace_Period = 5; Lease_Lifetime = 5; Graceless = true; RecoveryRoot = "{state}";
  Minor_Versions = 0, 1, 2; Only_Numeric_Owners = true; UseGetpwnam = true; DomainName = "localdomain";
}}
NFS_KRB5 {{ Active_krb5 = false; }}
# All else is as in a fresh installation: so Ganesha remembers attributes and names for a minute.
EXPORT_DEFAULTS {{ SecType = sys; Transports = TCP; Protocols = 3, 4; }}
EXPORT {{
  Export_Id = 78; Path = {path}; Pseudo = /export;
  Access_Type = {access}; Squash = {squash}; PrivilegedPort = {secure};
  Anonymous_Uid = {anonuid}; Anonymous_Gid = {anongid};
  FSAL {{ Name = VFS; }}
}}
"""

# Per word its settings. Words that Ganesha always fulfils set nothing.
WORDS = {
    "rw": {"access": "RW"},
    "ro": {"access": "RO"},
    "root_squash": {"squash": "Root_Squash"},
    "no_root_squash": {"squash": "No_Root_Squash"},
    "all_squash": {"squash": "All_Squash"},
    "no_all_squash": {},
    "secure": {"secure": "true"},
    "insecure": {"secure": "false"},
    "sync": {},
    "no_subtree_check": {},
    "sec=sys": {},
}


def parse_export(words, _filesystem):
    """The settings of a comma list of exports(5) words, on top of DEFAULT_EXPORT."""
    settings = {"anonuid": 65534, "anongid": 65534}
    for word in f"{DEFAULT_EXPORT},{words}".split(","):
        name, _, value = word.partition("=")
        if word in WORDS:
            settings.update(WORDS[word])
        elif name in ("anonuid", "anongid") and value.isdigit():
            settings[name] = int(value)
        elif word:
            expected = ", ".join([*WORDS, "anonuid=N", "anongid=N"])
            raise ValueError(f"--export: '{word}' is none of the words that Ganesha can do: {expected}")
    return settings


def io_flusher(packages):
    """The setting that a Ganesha newer than 4.3 needs without CAP_SYS_RESOURCE; an older one does not know it."""
    word = "Allow_Set_Io_Flusher_Fail"
    libraries = packages.glob("usr/lib/**/libganesha_nfsd.so*")
    knows = any(word.lower().encode() in library.read_bytes().lower() for library in libraries)
    return f"{word} = true;" if knows else ""


def configuration(settings, path, packages, state):
    plugins = next(packages.glob("usr/lib/*/ganesha/libfsalvfs.so")).parent
    return TEMPLATE.format(port=NFS_PORT, mount_port=MOUNT_PORT, path=path, plugins=plugins, state=state,
                           flusher=io_flusher(packages), **settings)


class Ganesha(Unpacked):
    name = "server"

    def write_config(self, path, settings):
        state = DIR / "ganesha"
        state.mkdir(exist_ok=True)
        CONFIG.write_text(configuration(settings, path, self.packages, state))

    def export(self, blocks):
        """Makes these EXPORT blocks the only exports. Ganesha reads them at its start."""
        CONFIG.write_text(CONFIG.read_text().split("\nEXPORT {")[0] + "\n" + "".join(blocks))
        self.kill()
        self.start()

    def sidecar_arguments(self):
        return ["--server=ganesha", f"--config={CONFIG}"]

    def argv(self):
        return [self.packages / "usr/bin/ganesha.nfsd", "-F", "-f", CONFIG, "-L", self.log, "-p", DIR / "ganesha.pid"]

    def ready(self):
        return tcp_answers(NFS_PORT) and tcp_answers(MOUNT_PORT)

    def stop(self):
        # Ganesha takes many seconds to end by itself, and its clients see no difference.
        self.kill()
