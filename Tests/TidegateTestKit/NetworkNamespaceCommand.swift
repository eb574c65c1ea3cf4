internal import Glibc
internal import Synchronization

/// A command of a test failed.
package struct CommandFailure: Error, CustomStringConvertible {
    /// The command, its exit status and its output.
    package let description: String
}

/// Runs commands to their end, to set up tests.
package enum NamespaceCommand {
    /// Runs a command; its exit status and what it printed on both outputs.
    ///
    /// 127 if it cannot be started.
    @discardableResult
    package static func run(_ command: [String], input: String = "") -> (status: Int32, output: String) {
        guard let started = try? RunningCommand(command, input: input) else { return (127, "cannot start \(command)") }
        return started.wait()
    }

    /// Runs a command that has to succeed.
    package static func check(_ command: [String], input: String = "") throws {
        let result = self.run(command, input: input)
        guard result.status == 0 else {
            throw CommandFailure(description: "\(command.joined(separator: " ")): \(result.status): \(result.output)")
        }
    }
}

/// A running command; killed when it is released.
package final class RunningCommand: Sendable {
    private let process: pid_t
    private let output: Int32
    private let isWaitedFor = Atomic<Bool>(false)

    init(_ command: [String], input: String = "") throws {
        var (toCommand, fromCommand): ([Int32], [Int32]) = ([-1, -1], [-1, -1])
        guard pipe(&toCommand) == 0, pipe(&fromCommand) == 0 else { throw CommandFailure(description: "pipe failed") }
        let pipes = toCommand + fromCommand
        for descriptor in pipes { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, pipes[0], 0)
        posix_spawn_file_actions_adddup2(&actions, pipes[3], 1)
        posix_spawn_file_actions_adddup2(&actions, pipes[3], 2)
        var arguments: [UnsafeMutablePointer<CChar>?] = command.map { strdup($0) } + [nil]
        defer { for argument in arguments { free(argument) } }
        InternetSockets.closeOnExec()
        var process = pid_t()
        let code = posix_spawnp(&process, command[0], &actions, nil, &arguments, environ)
        close(pipes[0])
        close(pipes[3])
        let bytes = Array(input.utf8)
        _ = write(pipes[1], bytes, bytes.count)
        close(pipes[1])
        guard code == 0 else {
            close(pipes[2])
            throw CommandFailure(description: "\(command[0]): \(code)")
        }
        self.process = process
        self.output = pipes[2]
    }

    deinit {
        if !self.isWaitedFor.exchange(true, ordering: .relaxed) {
            kill(self.process, SIGKILL)
            waitpid(self.process, nil, 0)
        }
        close(self.output)
    }

    /// Ends the command, and waits until it has.
    package func stop() {
        kill(self.process, SIGKILL)
        _ = self.wait()
    }

    func wait() -> (status: Int32, output: String) {
        var text: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = read(self.output, &buffer, buffer.count)
            guard count > 0 else { break }
            text += buffer[..<count]
        }
        var status: Int32 = 0
        if !self.isWaitedFor.exchange(true, ordering: .relaxed) { waitpid(self.process, &status, 0) }
        return ((status >> 8) & 0xFF, String(decoding: text, as: UTF8.self))
    }
}
