import Testing

@testable import TidegateCLI

@Suite struct RunMachineTests {
    private func effects(_ inputs: RunMachine.Input..., retries: Int = 3) -> [[RunMachine.Effect]] {
        var machine = RunMachine(retryLimit: retries)
        return inputs.map { machine.handle($0) }
    }

    private func retryLine(_ number: Int, of limit: Int = 3) -> RunMachine.Effect {
        .print(
            "command exited with status 23 while the path was lost (eth0 has no carrier); retry \(number) of \(limit)")
    }

    private let loss = RunMachine.Input.lost("eth0 has no carrier")

    @Test("A command that succeeds ends the run, whatever the path did")
    func success() {
        #expect(self.effects(.opened, .exited(0)) == [[.start], [.exit(0, nil)]])
        #expect(self.effects(.opened, self.loss, .exited(0)).last == [.exit(0, nil)])
    }

    @Test("A failure while the path was lost is tried again behind the gate")
    func lossBefore() {
        #expect(
            self.effects(.opened, self.loss, .exited(23), .opened, .exited(0))
                == [[.start], [], [self.retryLine(1), .wait], [.start], [.exit(0, nil)]])
    }

    @Test("A loss soon after a failure explains it too")
    func lossAfter() {
        #expect(
            self.effects(.opened, .exited(23), self.loss, .graceExpired, .opened)
                == [[.start], [.startGrace], [self.retryLine(1), .wait], [], [.start]])
    }

    @Test("A failure that no loss explains ends with the command's own code")
    func ownFailure() {
        #expect(self.effects(.opened, .exited(7), .graceExpired) == [[.start], [.startGrace], [.exit(7, nil)]])
    }

    @Test("A loss of before the command ran explains nothing")
    func lossBeforeStart() {
        #expect(self.effects(self.loss, .opened, .exited(7), .graceExpired).last == [.exit(7, nil)])
        #expect(
            self.effects(.opened, self.loss, .exited(23), .opened, .exited(23), .graceExpired).last == [.exit(23, nil)])
    }

    @Test("Only failures for want of a path count, and the last one says that no retries left")
    func retriesEnd() {
        let effects = self.effects(.opened, self.loss, .exited(23), .opened, self.loss, .exited(23), retries: 1)
        let last = "command exited with status 23 while the path was lost (eth0 has no carrier); no retries left"
        #expect(effects.last == [.exit(23, last)])
        // Nothing is waited for where nothing could follow.
        #expect(self.effects(.opened, .exited(7), retries: 0).last == [.exit(7, nil)])
        #expect(self.effects(.opened, self.loss, .exited(7), retries: 0).last == [.exit(7, nil)])
    }

    @Test("A gate that stays shut ends with 75 and what is missing")
    func gaveUp() {
        #expect(
            self.effects(.gaveUp("carrier: eth0 has no carrier")) == [[.exit(75, "carrier: eth0 has no carrier")]])
    }

    @Test("A signal ends the waiting, is passed to the command, and is never answered by a retry")
    func signals() {
        #expect(self.effects(.signal(15)) == [[.exit(143, nil)]])
        #expect(self.effects(.opened, .exited(7), .signal(2)).last == [.exit(130, nil)])
        #expect(
            self.effects(.opened, self.loss, .signal(15), .exited(143))
                == [[.start], [], [.forward(15)], [.exit(143, nil)]])
        // The keyboard reaches the command first.
        #expect(self.effects(.opened, self.loss, .exited(130)).last == [.exit(130, nil)])
    }

    @Test("A command that cannot be started ends with the code of shells")
    func notStarted() {
        let error = CommandError(.notFound, "x: No such file or directory")
        #expect(self.effects(.opened, .startFailed(error)).last == [.exit(127, error.message)])
    }

    @Test("Nothing follows the end")
    func finished() {
        #expect(self.effects(.opened, .exited(0), self.loss, .opened, .signal(2)).suffix(3) == [[], [], []])
    }
}
