package spawn

import "skill-mcp/internal/report"

// remedy is the one thing that would give this host the layer.
func remedy(l report.Layer, k lack) string {
	switch l {
	case report.LandlockFS, report.LandlockNet, report.LandlockScope:
		switch k.errno {
		case "ENOSYS":
			return "run a kernel with CONFIG_SECURITY_LANDLOCK (Linux 5.13 or later)"
		case "EOPNOTSUPP", "ENOTSUP": // one number on Linux, named either way
			return "add landlock to the kernel's lsm= boot parameter"
		case "EPERM":
			return "allow the landlock system calls in the container's seccomp profile"
		}
		return "run a newer kernel: TCP rules came with 6.7, scopes with 6.12"
	case report.NSPid, report.NSMount, report.NSNet, report.NSIpc:
		if (k.stage == "view" || k.stage == "mounts") && k.errno == "EINVAL" { // "/" is no mount point
			return "start the server outside of the chroot, or make its folder a mount point first: mount --bind DIR DIR"
		}
		switch k.errno {
		case "ENOSPC":
			return "raise user.max_user_namespaces (sysctl) above 0"
		case "EPERM", "EACCES":
			return "allow user namespaces: sysctl kernel.unprivileged_userns_clone=1, kernel.apparmor_restrict_unprivileged_userns=0, or the container's seccomp profile; or start the server as root"
		}
		return "run Linux 5.12 or later with namespaces"
	case report.CgroupMemory, report.CgroupPids, report.CgroupCPU, report.CgroupKill:
		return "start the server as root, or in a delegated group: systemd-run --user --scope -p Delegate=yes"
	case report.UID:
		return "start the server as root: it drops everything but the change of uid"
	case report.Seccomp:
		return "run a kernel with CONFIG_SECCOMP_FILTER, and a container profile that allows seccomp"
	case report.PrivateTmp:
		return "allow mount namespaces (see ns-mount)"
	}
	return ""
}
