import Testing

@testable import TidegateDaemon

@Suite struct DefaultPathsTests {
    @Test(
        "State and socket are where the system, systemd or the user's session has a place for them",
        arguments: [
            (0, [:], "/run/tidegate/control.sock", "/var/lib/tidegate"),
            (0, ["XDG_STATE_HOME": "/x"], "/run/tidegate/control.sock", "/var/lib/tidegate"),
            (
                998, ["RUNTIME_DIRECTORY": "/run/tg", "STATE_DIRECTORY": "/var/lib/tg:/var/lib/other"],
                "/run/tg/control.sock", "/var/lib/tg"
            ),
            (0, ["STATE_DIRECTORY": "/s"], "/run/tidegate/control.sock", "/s"),
            (
                1000, ["XDG_RUNTIME_DIR": "/run/user/1000", "HOME": "/home/a"],
                "/run/user/1000/tidegate/control.sock", "/home/a/.local/state/tidegate"
            ),
            (
                1000, ["XDG_STATE_HOME": "/home/a/s", "HOME": "/home/a"],
                "/run/user/1000/tidegate/control.sock", "/home/a/s/tidegate"
            ),
            (1000, [:], "/run/user/1000/tidegate/control.sock", "/tmp/.local/state/tidegate"),
        ] as [(UInt32, [String: String], String, String)])
    func places(_ user: UInt32, _ environment: [String: String], _ socket: String, _ state: String) {
        let places = DefaultPaths(user: user) { environment[$0] }
        #expect(places.socket == socket)
        #expect(places.state == state)
    }
}
