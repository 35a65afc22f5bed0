/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The judges of the registry, and of the sidecar behind it. */
#include <linux/magic.h>

#include "ctl/doctor/doctor_checks.h"

#define START_SIDECAR "Start the sidecar on this host: systemctl enable --now localiofs-sidecar"

void judge_registry(const struct doctor_facts *f, struct finding *ret)
{
	const struct registry_facts *r = &f->registry;

	if (r->type[0])
		finding_ok(ret, "%s exists", r->path);
	else
		finding_bad(ret, CHECK_FAIL,
			"No sidecar runs on this host, or this container does not see its registry.",
			START_SIDECAR ". In a container: bind /dev/shm/localiofs into it, read-only.", "%s",
			r->place.text);
}

void judge_registry_tmpfs(const struct doctor_facts *f, struct finding *ret)
{
	const struct registry_facts *r = &f->registry;

	if (r->place_error == 0)
		finding_ok(ret, "it lies on tmpfs");
	else
		finding_bad(ret, CHECK_FAIL, "Only a directory in this host's memory can prove that it is this host's.",
			"Mount with registry= a directory on tmpfs, the same as the sidecar's --registry; the default "
			"is " REGISTRY_DEFAULT ".",
			"%s", r->place.text);
}

void judge_registry_owner(const struct doctor_facts *f, struct finding *ret)
{
	const struct registry_facts *r = &f->registry;

	if (r->uid != 0 && (r->mode & 022) == 0)
		finding_ok(ret, "it belongs to uid %u, and only that user may write to it", r->uid);
	else
		finding_bad(ret, CHECK_FAIL, "Others than the sidecar could have changed the registry.",
			"Remove the directory {registry}, and restart the sidecar, which makes it anew.", "%s",
			r->fault.text);
}

void judge_registry_mark(const struct doctor_facts *f, struct finding *ret)
{
	const struct registry_facts *r = &f->registry;

	if (r->error == 0)
		finding_ok(ret, "it has the mark of a sidecar");
	else if (r->fault.reason == REASON_NO_PERMISSION)
		finding_bad(ret, CHECK_FAIL, "The mark, which only root of this host can set, cannot be read.",
			"Allow the attribute " REGISTRY_MARK " in the security module or the seccomp filter.", "%s",
			r->fault.text);
	else
		finding_bad(ret, CHECK_FAIL, "No sidecar made this directory: any user could have made it.",
			"Remove the directory {registry}, and restart the sidecar as root: it needs CAP_SYS_ADMIN to "
			"set the "
			"mark.",
			"%s", r->fault.text);
}

void judge_registry_read_only(const struct doctor_facts *f, struct finding *ret)
{
	const struct registry_facts *r = &f->registry;

	if (!r->bound)
		finding_ok(ret, "it is a directory of this system's tmpfs");
	else if (r->read_only)
		finding_ok(ret, "it is bound in from elsewhere, read-only");
	else
		finding_bad(ret, CHECK_ADVICE, "This container could fill the host's registry with files.",
			"Bind it into the container read-only: mount -o remount,bind,ro {registry}",
			"it is bound in from elsewhere, writable");
}

void judge_broker_socket(const struct doctor_facts *f, struct finding *ret)
{
	const struct registry_facts *r = &f->registry;

	if (r->socket_error == 0)
		finding_ok(ret, BROKER_SOCKET_NAME " is there and has a mark");
	else
		finding_bad(ret, CHECK_FAIL,
			"The sidecar is being started, was stopped, or was killed while it started.",
			"Restart the sidecar: systemctl restart localiofs-sidecar", "%s", r->socket.text);
}

void judge_sidecar_listens(const struct doctor_facts *f, struct finding *ret)
{
	if (f->sidecar.connect_error == 0)
		finding_ok(ret, "a process listens on the socket");
	else
		finding_bad(ret, CHECK_FAIL, "The sidecar has ended, and left its socket.",
			"See why in its log (journalctl -u localiofs-sidecar), and start it: systemctl start "
			"localiofs-sidecar",
			"%s/" BROKER_SOCKET_NAME ": %s", f->registry.path, strerror(-f->sidecar.connect_error));
}

void judge_sidecar_version(const struct doctor_facts *f, struct finding *ret)
{
	if (f->sidecar.goodbye != REASON_VERSION)
		finding_ok(ret, "it speaks version %d of the broker protocol, or has not answered", BROKER_VERSION);
	else
		finding_bad(ret, CHECK_FAIL, "Client and sidecar do not understand each other.",
			"Install the same release of localiofs and localiofs-sidecar, and restart both.",
			"the sidecar refuses version %d of the broker protocol", BROKER_VERSION);
}

void judge_sidecar_answers(const struct doctor_facts *f, struct finding *ret)
{
	const struct sidecar_facts *s = &f->sidecar;

	if (s->answer_error == -ETIMEDOUT)
		finding_bad(ret, CHECK_FAIL, "The sidecar is stopped, or hangs on a filesystem.",
			"See its log and its state (ps), and restart it: systemctl restart localiofs-sidecar",
			"the sidecar does not answer within %d s", DOCTOR_QUESTION_SECONDS);
	else if (s->goodbye != REASON_NONE)
		finding_bad(ret, CHECK_FAIL, "The sidecar has accepted the connection and ended it.",
			"Do what the reason says; localiofs-status(7) lists the reasons.", "the sidecar says %s: %s",
			reason_code(s->goodbye), reason_text(s->goodbye));
	else if (s->answer_error < 0)
		finding_bad(ret, CHECK_FAIL, "The process on the socket is no sidecar of this release, or is ending.",
			"Restart the sidecar: systemctl restart localiofs-sidecar", "the connection ended: %s",
			strerror(-s->answer_error));
	else if (s->announced.error < 0)
		finding_bad(ret, CHECK_FAIL, "The sidecar cannot take one more client now.",
			"Do what the reason says; localiofs-sidecar(8) lists the limits.", "the sidecar refuses: %s",
			reason_text(s->announced.reason));
	else
		finding_ok(ret, "the sidecar answers");
}

void judge_sidecar_registry(const struct doctor_facts *f, struct finding *ret)
{
	if (f->sidecar.slot_error == 0)
		finding_ok(ret, "the sidecar writes into this registry");
	else
		finding_bad(ret, CHECK_FAIL,
			"The socket in the registry is another sidecar's, or the registry is a copy.",
			"Restart the sidecar, and bind its registry as a whole into the container.", "%s",
			f->sidecar.slot.text);
}

void judge_server_listens(const struct doctor_facts *f, struct finding *ret)
{
	if (f->sidecar.announced.probeport != 0)
		finding_ok(ret, "the sidecar sees the NFS server, and answers probes on port %u",
			f->sidecar.announced.probeport);
	else
		finding_bad(ret, CHECK_FAIL,
			"The sidecar sees no NFS server listen, and answers no probe until one does.",
			"Start the NFS server, and the sidecar in the same network namespace, with the right --server.",
			"the sidecar sees no NFS server");
}
