internal import FoundationEssentials
internal import Glibc

/// Reads small files of the system in /proc, /sys, /etc and /run.
package enum SystemFiles {
    /// What sysfs reports about a link; nil if sysfs is not mounted or shows another namespace.
    package static func facts(of link: KernelLink) -> LinkFacts? {
        let folder = "/sys/class/net/\(link.name)"
        guard !link.name.contains("/"), let index = self.text("\(folder)/ifindex"),
            UInt32(index.filter(\.isNumber)) == link.index
        else { return nil }
        let event = self.text("\(folder)/uevent") ?? ""
        let type = event.split(separator: "\n").first { $0.hasPrefix("DEVTYPE=") }?.dropFirst("DEVTYPE=".count)
        return LinkFacts(
            deviceType: type.map(String.init),
            isWireless: self.exists("\(folder)/wireless") || self.exists("\(folder)/phy80211"),
            hasDevice: self.exists("\(folder)/device"))
    }

    private static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

    /// The start of a file, about `limit` bytes at most; nil if it cannot be read.
    static func text(_ path: String, limit: Int = 65_536) -> String? {
        // O_NONBLOCK, in case the path is a pipe.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var content: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while content.count < limit {
            let count = read(descriptor, &buffer, buffer.count)
            guard count > 0 else { break }
            content.append(contentsOf: buffer[..<count])
        }
        return String(decoding: content, as: UTF8.self)
    }

    /// The entries of a directory; empty if it is gone or this process may not read it.
    static func names(in folder: String) -> [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    }

    /// The target of a symbolic link (readlink(2)); nil if the path is not one.
    static func target(of path: String) -> String? {
        try? FileManager.default.destinationOfSymbolicLink(atPath: path)
    }
}
