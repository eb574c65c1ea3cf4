internal import Foundation
internal import TidegateCore

/// Names of users and control groups; each is looked up once.
struct ConnectionOwners {
    private let hierarchy: String
    // The hierarchy is read when a number comes up that is not known; those that it did not have stay numbers.
    private var groups: [UInt64: String] = [:]
    private var unnamed: Set<UInt64> = []
    private var users: [UInt32: String] = [:]

    /// Names of the control groups of a hierarchy (cgroups(7)), whose numbers are those of its directories.
    init(hierarchy: String = "/sys/fs/cgroup") { self.hierarchy = hierarchy }

    private static func groups(of hierarchy: String) -> [UInt64: String] {
        var groups: [UInt64: String] = [:]
        let directories = FileManager.default.enumerator(atPath: hierarchy)
        while let path = directories?.nextObject() as? String {
            guard directories?.fileAttributes?[.type] as? FileAttributeType == .typeDirectory,
                let number = directories?.fileAttributes?[.systemFileNumber] as? NSNumber
            else { continue }
            groups[number.uint64Value] = path
        }
        return groups
    }

    private mutating func name(ofGroup number: UInt64) -> String? {
        if self.groups[number] == nil, self.unnamed.insert(number).inserted {
            self.groups.merge(Self.groups(of: self.hierarchy)) { _, new in new }
        }
        return self.groups[number]
    }

    private mutating func name(ofUser number: UInt32) -> String {
        if let name = self.users[number] { return name }
        let name = getpwuid(number).map { String(cString: $0.pointee.pw_name) } ?? "uid \(number)"
        self.users[number] = name
        return name
    }

    /// `USER` or `USER@GROUP`: the user's name or number, and the control group's path or number.
    mutating func text(of owner: RemoteReport.Owner) -> String {
        let user = self.name(ofUser: owner.user)
        // The root of the hierarchy says nothing.
        guard let number = owner.controlGroup, number > 1 else { return user }
        return "\(user)@\(self.name(ofGroup: number) ?? "cgroup \(number)")"
    }

    // More would hide the other columns.
    private static let programLimit = 3

    /// The owners of a remote's connections, then their programs as `NAME[PID]`; `-` if nothing is known of them.
    mutating func text(of remote: RemoteReport, _ programs: [SocketProgram]) -> String {
        // A program gives itself any name (PR_SET_NAME), line feeds too.
        let names = programs.prefix(Self.programLimit).map { "\($0.name.escapingControls)[\($0.pid)]" }
        let more = programs.count > Self.programLimit ? ["and \(programs.count - Self.programLimit) more"] : []
        let parts = remote.owners.map { self.text(of: $0) } + names + more
        return parts.isEmpty ? "-" : parts.joined(separator: " ")
    }
}
