internal import Foundation
internal import Glibc
internal import TidegateCore

/// Names of users and control groups; both are looked up once.
struct ConnectionOwners {
    private let groups: [UInt64: String]

    /// Reads the hierarchy of control groups (cgroups(7)), whose numbers are those of its directories.
    init(hierarchy: String = "/sys/fs/cgroup") {
        var groups: [UInt64: String] = [:]
        let directories = FileManager.default.enumerator(atPath: hierarchy)
        while let path = directories?.nextObject() as? String {
            guard directories?.fileAttributes?[.type] as? FileAttributeType == .typeDirectory,
                let number = directories?.fileAttributes?[.systemFileNumber] as? NSNumber
            else { continue }
            groups[number.uint64Value] = path
        }
        self.groups = groups
    }

    /// `USER` or `USER@GROUP`: the user's name or number, and the control group's path or number.
    func text(of owner: RemoteReport.Owner) -> String {
        let user = getpwuid(owner.user).map { String(cString: $0.pointee.pw_name) } ?? "uid \(owner.user)"
        // The root of the hierarchy says nothing.
        guard let number = owner.controlGroup, number > 1 else { return user }
        return "\(user)@\(self.groups[number] ?? "cgroup \(number)")"
    }

    // More would hide the other columns.
    private static let programLimit = 3

    /// The owners of a remote's connections, then their programs as `NAME[PID]`; `-` if nothing is known of them.
    func text(of remote: RemoteReport, _ programs: [SocketProgram]) -> String {
        // A program gives itself any name (PR_SET_NAME), line feeds too.
        let names = programs.prefix(Self.programLimit).map { "\($0.name.escapingControls)[\($0.pid)]" }
        let more = programs.count > Self.programLimit ? ["and \(programs.count - Self.programLimit) more"] : []
        let parts = remote.owners.map(self.text) + names + more
        return parts.isEmpty ? "-" : parts.joined(separator: " ")
    }
}
