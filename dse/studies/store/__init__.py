"""Studies: types of records, and the Parquet store that keeps them."""

from dse.studies.store.columns import RowExpression as RowExpression
from dse.studies.store.columns import column as column
from dse.studies.store.columns import stored_columns as stored_columns
from dse.studies.store.records import RecordType as RecordType
from dse.studies.store.schema import POINTS as POINTS
from dse.studies.store.schema import STATUSES as STATUSES
from dse.studies.store.schema import TRANSIENT_STATUSES as TRANSIENT_STATUSES
from dse.studies.store.schema import Rows as Rows
from dse.studies.store.schema import Status as Status
from dse.studies.store.schema import StudyRow as StudyRow
from dse.studies.store.schema import as_rows as as_rows
from dse.studies.store.schema import as_table as as_table
from dse.studies.store.schema import study_schema as study_schema
from dse.studies.store.snapshot import Snapshot as Snapshot
from dse.studies.store.store import StudyStore as StudyStore
