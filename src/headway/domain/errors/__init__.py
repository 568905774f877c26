"""Everything that can go wrong, as one tree.

HeadwayError
├── Invalid            the request is invalid                   422, exit 2
│   ├── InvalidRequest  InvalidParams  InvalidCron  InvalidTimezone  InvalidDuration
│   ├── InvalidArtifact  OutsideWorkspace  NeverFires  UnknownReference
│   └── DependencyCycle  UnknownLimit  UnknownTemplate  TemplateArchived
├── Malformed          the request cannot be read               400, exit 2
├── NotFound           it does not exist                        404, exit 3
│   └── NotFinished  NotClaimed  NoStore
├── Conflict           not possible in the current state        409, exit 4
│   ├── NotActive  AlreadyClaimed  IdempotencyMismatch  NameTaken  SlotReserved  StaleVersion
│   ├── LeaseEnded  RunNotFailed  RewindRefused  IllegalMove  OtherBand
│   ├── NotAwaitingApproval  LogGap  BuiltInWorker
│   └── JobEnded  StepDiffers  JournalFull
├── Unauthorized       the token is missing or unknown          401, exit 1
│   └── TokenRefused
├── Forbidden          the token's role does not allow this     403, exit 1
│   └── CommandsOff  ForeignLease  ForeignWorker  TooManyWorkers
├── UnsafeFile         a file with secrets is open to others    (here only), exit 2
├── TooLarge           larger than the limit                    413, exit 2
├── WaitedTooLong      a direct request found no slot in time   504, exit 1
├── HandlerFailed      a direct request's handler raised        500, exit 1
├── JobFailed          the awaited job did not succeed          (SDK only)
├── InvalidResult      its result is not as declared            (SDK only)
├── SignalTimeout      the awaited signal did not come in time  (in a handler)
└── Unavailable        the scheduler cannot answer now          503, exit 1
    ├── ConnectionLost  DatabaseMoved  DatabaseDamaged  OrphanedLog
    ├── NetworkFileSystem  OpenedBeforeFork  OutdatedSchema  TokensUnreadable
    └── Busy  Stopping  UntrustedServer  NeedsServer  OutputElsewhere

Each class has a stable `code` that HTTP, the command line and the SDK share.
"""

from headway.domain.errors.conflict import (
    AlreadyClaimed,
    BuiltInWorker,
    Conflict,
    IdempotencyMismatch,
    IllegalMove,
    JobEnded,
    JournalFull,
    LeaseEnded,
    LogGap,
    NameTaken,
    NotActive,
    NotAwaitingApproval,
    OtherBand,
    RewindRefused,
    RunNotFailed,
    SlotReserved,
    StaleVersion,
    StepDiffers,
)
from headway.domain.errors.database import (
    ConnectionLost,
    DatabaseDamaged,
    DatabaseMoved,
    NetworkFileSystem,
    OpenedBeforeFork,
    OrphanedLog,
    OutdatedSchema,
)
from headway.domain.errors.invalid import (
    DependencyCycle,
    Invalid,
    InvalidArtifact,
    InvalidCron,
    InvalidDuration,
    InvalidParams,
    InvalidRequest,
    InvalidTimezone,
    Malformed,
    NeverFires,
    OutsideWorkspace,
    TemplateArchived,
    TooLarge,
    UnknownLimit,
    UnknownReference,
    UnknownTemplate,
    from_validation,
)
from headway.domain.errors.refused import (
    Busy,
    CommandsOff,
    Forbidden,
    ForeignLease,
    ForeignWorker,
    HandlerFailed,
    InvalidResult,
    JobFailed,
    NeedsServer,
    NoStore,
    NotClaimed,
    NotFinished,
    NotFound,
    OutputElsewhere,
    SignalTimeout,
    Stopping,
    TokenRefused,
    TokensUnreadable,
    TooManyWorkers,
    Unauthorized,
    Unavailable,
    UnsafeFile,
    UntrustedServer,
    WaitedTooLong,
)
from headway.domain.errors.root import HeadwayError, all_errors, revive

__all__ = [
    "AlreadyClaimed",
    "BuiltInWorker",
    "Busy",
    "CommandsOff",
    "Conflict",
    "ConnectionLost",
    "DatabaseDamaged",
    "DatabaseMoved",
    "DependencyCycle",
    "Forbidden",
    "ForeignLease",
    "ForeignWorker",
    "HandlerFailed",
    "HeadwayError",
    "IdempotencyMismatch",
    "IllegalMove",
    "Invalid",
    "InvalidArtifact",
    "InvalidCron",
    "InvalidDuration",
    "InvalidParams",
    "InvalidRequest",
    "InvalidResult",
    "InvalidTimezone",
    "JobEnded",
    "JobFailed",
    "JournalFull",
    "LeaseEnded",
    "LogGap",
    "Malformed",
    "NameTaken",
    "NeedsServer",
    "NetworkFileSystem",
    "NeverFires",
    "NoStore",
    "NotActive",
    "NotAwaitingApproval",
    "NotClaimed",
    "NotFinished",
    "NotFound",
    "OpenedBeforeFork",
    "OrphanedLog",
    "OtherBand",
    "OutdatedSchema",
    "OutputElsewhere",
    "OutsideWorkspace",
    "RewindRefused",
    "RunNotFailed",
    "SignalTimeout",
    "SlotReserved",
    "StaleVersion",
    "StepDiffers",
    "Stopping",
    "TemplateArchived",
    "TokenRefused",
    "TokensUnreadable",
    "TooLarge",
    "TooManyWorkers",
    "Unauthorized",
    "Unavailable",
    "UnknownLimit",
    "UnknownReference",
    "UnknownTemplate",
    "UnsafeFile",
    "UntrustedServer",
    "WaitedTooLong",
    "all_errors",
    "from_validation",
    "revive",
]
