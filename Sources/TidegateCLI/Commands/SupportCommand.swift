internal import ArgumentParser
internal import Foundation
internal import Glibc
internal import Tidegate
internal import TidegateDaemon
internal import TidegateServer

/// `tidegate support`: an archive for a bug report.
struct SupportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "support", abstract: "Write an archive for a bug report, without secrets.",
        discussion: """
            Runs the commands of Tidegate and of the system that show the state of this host. A daemon of the same user \
            or of root adds its metrics, newest events and configuration. Prints the name and size of every file before it \
            writes the archive, and sends the archive nowhere.

            -v prints each command. The archive names hosts, addresses and programs. URLs have only their scheme, host and \
            port. Of the configuration it has the values of keys that are known to be harmless.

            Example: sudo tidegate support --control.user tidegate

            Exit status: 0 if the archive was written, 1 if it could not be.
            """)

    @Option(
        name: .shortAndLong,
        help: .value("file", "The archive (default: tidegate-support-TIME.tar.gz in the working directory)."))
    var output: String?

    @OptionGroup var socket: SocketOptions
    @OptionGroup var verbosity: VerbosityOptions

    /// The commands of Tidegate that show the state of this host, by the name of the file with their output.
    private static let commands: KeyValuePairs = [
        "status.txt": ["status", "-v"], "status.json": ["status", "--json"], "explain.txt": ["explain", "-v"],
        "connections.json": ["connections", "--json"], "tasks.json": ["tasks", "list", "--json"],
        "incidents.json": ["incidents", "--since", "30d", "--json"],
    ]

    /// Those of the system.
    private static let systemCommands: KeyValuePairs = [
        "kernel.txt": "uname -srvmo; cat /etc/os-release", "links.txt": "ip -details -statistics link",
        "addresses.txt": "ip address", "rules.txt": "ip -4 rule; ip -6 rule",
        "routes.txt": "ip -4 route show table all; ip -6 route show table all",
        "resolver.txt": "cat /etc/resolv.conf /etc/nsswitch.conf /etc/hosts",
        "log.txt": "journalctl --unit 'tidegate*' --lines 5000 --no-pager --output short-iso",
    ]

    func run() async throws {
        let (terminal, files) = (Terminal(), FileManager.default)
        let time = SystemClock().wall().description.prefix(19).filter { $0 != ":" && $0 != "-" }
        let name = "tidegate-support-\(time)"
        let archive = self.output ?? "\(name).tar.gz"
        // A symbolic link that leads nowhere is there, too.
        guard (try? files.attributesOfItem(atPath: archive)) == nil else {
            throw CommandError(.no, "\(archive) exists; choose another file with --output")
        }
        let file = try FileOutput.open(archive, of: "--output", permissions: 0o600).mapError(CommandError.init).get()
        defer { file.discard() }
        let temporary = "\(files.temporaryDirectory.path)/tidegate-\(UUID().uuidString)"
        let (folder, problems) = ("\(temporary)/\(name)", "\(temporary)/problems")
        try files.createDirectory(
            atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        defer { try? files.removeItem(atPath: temporary) }
        try await self.collect(into: folder)
        for file in try files.contentsOfDirectory(atPath: folder).sorted() {
            let size = try files.attributesOfItem(atPath: "\(folder)/\(file)")[.size] as? Int64
            guard !self.verbosity.quiet else { continue }
            terminal.print("\(file.padding(toLength: 18, withPad: " ", startingAt: 0))\(ByteText(size ?? 0))")
        }
        let packed = "\(temporary)/packed"
        guard try await self.run(["tar", "-czf", packed, "-C", temporary, name], to: problems) == 0 else {
            let problem = (try? TextFile.read(problems, atMost: 1 << 20)).map { $0.prefix { $0 != "\n" } } ?? ""
            throw CommandError(.no, "\(archive) cannot be packed: \(problem)")
        }
        _ = file.write(Array(try Data(contentsOf: URL(filePath: packed))))
        if let error = file.finish() { throw CommandError(error) }
        guard !self.verbosity.quiet else { return }
        terminal.print("\(archive) is written. Look at what it contains before you send it.")
    }

    private func collect(into folder: String) async throws {
        // The same program, even if it is not on PATH (proc_pid_exe(5)).
        let program = "/proc/\(getpid())/exe"
        let socket = self.socket.socket.map { ["--control.socket", $0] } ?? []
        let user = self.socket.user.map { ["--control.user", $0] } ?? []
        _ = try await self.run([program, "--version"], to: "\(folder)/version.txt")
        for (name, arguments) in Self.commands {
            _ = try await self.run([program] + arguments + socket + user, to: "\(folder)/\(name)")
        }
        for (name, script) in Self.systemCommands {
            _ = try await self.run(["sh", "-c", script], to: "\(folder)/\(name)")
        }
        var texts: [String: String]
        do throws(ControlClientError) {
            texts = try await self.socket.client(timeout: DaemonKnowledge.limit).supportFiles()
        } catch {
            texts = ["daemon.txt": "\(error)\n"]
            Terminal().printError("tidegate: without what a daemon knows: \(error)")
        }
        // A daemon of another user names the files, and must not lead root out of the folder.
        for (name, text) in texts where !name.contains("/") && !name.hasPrefix(".") {
            try Data(text.utf8).write(to: URL(filePath: "\(folder)/\(name)"))
        }
        for name in try FileManager.default.contentsOfDirectory(atPath: folder) {
            let file = URL(filePath: "\(folder)/\(name)")
            let text = String(decoding: try Data(contentsOf: file), as: UTF8.self)
            try Data(URLRedaction.withOrigins(text).utf8).write(to: file)
        }
    }

    /// Runs a command whose output goes to a file; returns its exit status.
    private func run(_ command: [String], to file: String) async throws(CommandError) -> Int32 {
        if self.verbosity.verbose { Terminal().printError(command.joined(separator: " ")) }
        // Only this user may read a report. A document of JSON has no warnings in it.
        let errors = file.hasSuffix(".json") ? "/dev/null" : "&1"
        let shell = ["sh", "-c", "umask 077; exec timeout 30 \"$@\" > \"$0\" 2>\(errors)", file]
        var inherited = Inheritance.current()
        inherited.descriptors = []
        let child = try ChildProcess.start(shell + command, passingOn: inherited)
        return await withCheckedContinuation { end in child.onExit { end.resume(returning: $0) } }
    }
}
